import {
  Activity,
  Archive,
  Bell,
  CircleUser,
  Clapperboard,
  Cloud,
  History,
  House,
  Info,
  LayoutGrid,
  MapPin,
  RefreshCw,
  Settings,
  Share2,
  Users,
  Wifi,
  Workflow,
  type LucideIcon,
} from 'lucide-react';
import { isManager, type Role } from '@station/protocol/roles';

/** How a place of the app is found and recognised; its page is in `places.ts`. `lowest`: nobody below this role has it. */
export type PlaceMark = { path: string; icon: LucideIcon; lowest: Role } & (
  | { on: 'bar'; name: 'home' | 'devices' | 'automations' | 'activity' | 'settings' }
  /** Reached from the settings. */
  | { on: 'settings'; name: SettingsName }
  /** Reached from the automations. */
  | { on: 'automations'; name: 'scenes' }
);

type SettingsName =
  | 'household'
  | 'network'
  | 'updates'
  | 'backup'
  | 'notifications'
  | 'members'
  | 'consumers'
  | 'cloud'
  | 'diagnostics'
  | 'about'
  | 'account';

/** In the order of the bar, then of the settings. */
export const placeMarks: readonly PlaceMark[] = [
  { path: '/', name: 'home', icon: House, on: 'bar', lowest: 'guest' },
  { path: '/devices', name: 'devices', icon: LayoutGrid, on: 'bar', lowest: 'guest' },
  { path: '/automations', name: 'automations', icon: Workflow, on: 'bar', lowest: 'member' },
  { path: '/activity', name: 'activity', icon: History, on: 'bar', lowest: 'limited' },
  { path: '/settings', name: 'settings', icon: Settings, on: 'bar', lowest: 'guest' },
  { path: '/scenes', name: 'scenes', icon: Clapperboard, on: 'automations', lowest: 'guest' },
  { path: '/account', name: 'account', icon: CircleUser, on: 'settings', lowest: 'guest' },
  { path: '/settings/home', name: 'household', icon: MapPin, on: 'settings', lowest: 'member' },
  { path: '/settings/network', name: 'network', icon: Wifi, on: 'settings', lowest: 'member' },
  { path: '/settings/updates', name: 'updates', icon: RefreshCw, on: 'settings', lowest: 'member' },
  { path: '/settings/backup', name: 'backup', icon: Archive, on: 'settings', lowest: 'member' },
  { path: '/settings/notifications', name: 'notifications', icon: Bell, on: 'settings', lowest: 'member' },
  { path: '/settings/people', name: 'members', icon: Users, on: 'settings', lowest: 'member' },
  { path: '/settings/systems', name: 'consumers', icon: Share2, on: 'settings', lowest: 'admin' },
  { path: '/settings/remote', name: 'cloud', icon: Cloud, on: 'settings', lowest: 'member' },
  { path: '/settings/diagnostics', name: 'diagnostics', icon: Activity, on: 'settings', lowest: 'member' },
  { path: '/settings/about', name: 'about', icon: Info, on: 'settings', lowest: 'member' },
];

const ofEveryone: ReadonlySet<string> = new Set(['account', 'notifications', 'about']);

/** Whether the list of the settings and the search have it: of the station itself only for those who manage it. */
export const isListed = ({ on, name }: PlaceMark, role: Role): boolean =>
  on !== 'settings' || ofEveryone.has(name) || (name === 'backup' ? role === 'owner' : isManager(role));

/** Addresses of previous releases: in bookmarks, and in messages that were sent. */
export const movedPlaces: readonly (readonly [before: string, now: string])[] = [
  ['/more', '/settings'],
  ['/station', '/settings/updates'],
  ['/station/network', '/settings/network'],
  ['/station/log', '/settings/log'],
  ['/firmware', '/settings/updates'],
  ['/device-firmware', '/settings/updates'],
  ['/members', '/settings/people'],
  ['/cloud', '/settings/remote'],
];
