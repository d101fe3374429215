import {
  AirVent,
  AlarmSmoke,
  Battery,
  Bell,
  Blinds,
  Camera,
  Cpu,
  DoorClosed,
  Droplets,
  Fan,
  Flame,
  Gauge,
  Heater,
  Lightbulb,
  Lock,
  type LucideIcon,
  Plug,
  Radar,
  Siren,
  Snowflake,
  Speaker,
  Sprout,
  Sun,
  Thermometer,
  ToggleRight,
  Waves,
  Wind,
  Zap,
} from 'lucide-react';
import { classNames } from '../../ui/class-names.ts';

/** The icons that a type may name. All of them come with the first page, so they are few. */
const icons: Readonly<Record<string, LucideIcon>> = {
  'air-vent': AirVent,
  'alarm-smoke': AlarmSmoke,
  battery: Battery,
  bell: Bell,
  blinds: Blinds,
  camera: Camera,
  'door-closed': DoorClosed,
  droplets: Droplets,
  fan: Fan,
  flame: Flame,
  gauge: Gauge,
  heater: Heater,
  lightbulb: Lightbulb,
  lock: Lock,
  plug: Plug,
  radar: Radar,
  siren: Siren,
  snowflake: Snowflake,
  speaker: Speaker,
  sprout: Sprout,
  sun: Sun,
  thermometer: Thermometer,
  'toggle-right': ToggleRight,
  waves: Waves,
  wind: Wind,
  zap: Zap,
};

/**
 * The icon of a device type, filled while the device is switched on; a chip for one that is not known. A text beside it has the same
 * meaning.
 */
export function DeviceIcon({ icon, on }: { icon: string | undefined; on: boolean }) {
  const Icon = icons[icon ?? ''] ?? Cpu;
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
