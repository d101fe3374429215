import {
  CircleUser,
  Clapperboard,
  Cloud,
  Cpu,
  History,
  House,
  LayoutGrid,
  Server,
  Settings,
  Users,
  Workflow,
  type LucideIcon,
} from 'lucide-react';
import type { Role } from '@station/protocol/roles';

/** How a place of the app is found and recognised; its page is in `places.ts`. `lowest`: nobody below this role has it. */
export type PlaceMark = { path: string; icon: LucideIcon; lowest: Role } & (
  | { on: 'bar'; name: 'home' | 'devices' | 'automations' | 'activity' | 'settings' }
  /** Reached from the settings. */
  | { on: 'settings'; name: 'scenes' | 'station' | 'firmware' | 'members' | 'cloud' | 'account' }
);

/** In the order of the bar. Below /firmware are the files that devices fetch, so the page of firmware has another address. */
export const placeMarks: readonly PlaceMark[] = [
  { path: '/', name: 'home', icon: House, on: 'bar', lowest: 'guest' },
  { path: '/devices', name: 'devices', icon: LayoutGrid, on: 'bar', lowest: 'guest' },
  { path: '/automations', name: 'automations', icon: Workflow, on: 'bar', lowest: 'member' },
  { path: '/activity', name: 'activity', icon: History, on: 'bar', lowest: 'limited' },
  { path: '/settings', name: 'settings', icon: Settings, on: 'bar', lowest: 'guest' },
  { path: '/scenes', name: 'scenes', icon: Clapperboard, on: 'settings', lowest: 'guest' },
  { path: '/station', name: 'station', icon: Server, on: 'settings', lowest: 'member' },
  { path: '/device-firmware', name: 'firmware', icon: Cpu, on: 'settings', lowest: 'member' },
  { path: '/members', name: 'members', icon: Users, on: 'settings', lowest: 'member' },
  { path: '/cloud', name: 'cloud', icon: Cloud, on: 'settings', lowest: 'member' },
  { path: '/account', name: 'account', icon: CircleUser, on: 'settings', lowest: 'guest' },
];
