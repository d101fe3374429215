import { ownValue } from '@station/protocol/own-value';
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
  Lock,
  type LucideIcon,
  Plug,
  Siren,
  Snowflake,
  Speaker,
  Sprout,
  Sun,
  Waves,
  Wind,
  Zap,
} from 'lucide-react';

/** Icons that a type may name beside those of the built-in types. */
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
  lock: Lock,
  plug: Plug,
  siren: Siren,
  snowflake: Snowflake,
  speaker: Speaker,
  sprout: Sprout,
  sun: Sun,
  waves: Waves,
  wind: Wind,
  zap: Zap,
};

/** A chip for a name that is not known. */
export function MoreIcon({ name }: { name: string }) {
  const Icon = ownValue(icons, name) ?? Cpu;
  return <Icon className="size-5" />;
}
