import { Cpu, Lightbulb, Radar, Thermometer, ToggleRight, type LucideIcon } from 'lucide-react';
import { classNames } from '../../ui/class-names.ts';

const icons: Readonly<Record<string, LucideIcon>> = {
  climate: Thermometer,
  pir: Radar,
  'switch-pir': ToggleRight,
  light: Lightbulb,
};

/** The sign of a kind of device; filled while it is switched on. A word beside it says the same. */
export function DeviceIcon({ type, on }: { type: string; on: boolean }) {
  const Icon = icons[type] ?? Cpu;
  return (
    <span
      aria-hidden
      className={classNames(
        'grid size-10 shrink-0 place-items-center rounded-full transition-colors',
        on ? 'bg-accent text-accent-ink' : 'bg-sunken text-ink-soft',
      )}
    >
      <Icon className="size-5" />
    </span>
  );
}
