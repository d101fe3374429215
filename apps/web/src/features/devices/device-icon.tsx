import { Cpu, Lightbulb, type LucideIcon, Radar, Thermometer, ToggleRight } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { ownValue } from '@station/protocol/own-value';
import { classNames } from '../../ui/class-names.ts';

/** Those of the built-in types come with the first page, all others in a chunk of their own. */
const icons: Readonly<Record<string, LucideIcon>> = {
  lightbulb: Lightbulb,
  radar: Radar,
  thermometer: Thermometer,
  'toggle-right': ToggleRight,
};
const MoreIcon = lazy(async () => ({ default: (await import('./more-icons.tsx')).MoreIcon }));

/**
 * The icon of a device type, filled while the device is switched on (a lamp glows warm); a chip for one that is not known. A text beside it has the same
 * meaning.
 */
export function DeviceIcon({ icon, on }: { icon: string | undefined; on: boolean }) {
  const Icon = ownValue(icons, icon ?? '');
  return (
    <span
      aria-hidden
      className={classNames(
        'grid size-10 shrink-0 place-items-center rounded-full transition-colors',
        on ? (icon === 'lightbulb' ? 'bg-glow text-glow-ink' : 'bg-accent text-accent-ink') : 'bg-sunken text-ink-soft',
      )}
    >
      {Icon && <Icon className="size-5" />}
      {!Icon && icon === undefined && <Cpu className="size-5" />}
      {!Icon && icon !== undefined && (
        <Suspense fallback={<Cpu className="size-5" />}>
          <MoreIcon name={icon} />
        </Suspense>
      )}
    </span>
  );
}
