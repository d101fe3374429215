import {
  CircleUser,
  Cloud,
  Cpu,
  History,
  House,
  Menu,
  Server,
  Settings,
  Users,
  Workflow,
  type LucideIcon,
} from 'lucide-react';

/** How a place of the app is found and recognised; its page is in `places.ts`. */
export type PlaceMark = {
  path: string;
  name:
    | 'home'
    | 'automations'
    | 'activity'
    | 'firmware'
    | 'station'
    | 'cloud'
    | 'members'
    | 'settings'
    | 'account'
    | 'more';
  icon: LucideIcon;
  /** A wide screen shows all but `phone`; a phone shows the places of its bar, and the others under "more". */
  on: 'both' | 'desk' | 'phone';
};

/** In the order of the bar. Below /firmware are the files that devices fetch, so the page of firmware has another address. */
export const placeMarks: readonly PlaceMark[] = [
  { path: '/', name: 'home', icon: House, on: 'both' },
  { path: '/automations', name: 'automations', icon: Workflow, on: 'both' },
  { path: '/activity', name: 'activity', icon: History, on: 'both' },
  { path: '/device-firmware', name: 'firmware', icon: Cpu, on: 'desk' },
  { path: '/station', name: 'station', icon: Server, on: 'desk' },
  { path: '/cloud', name: 'cloud', icon: Cloud, on: 'desk' },
  { path: '/members', name: 'members', icon: Users, on: 'desk' },
  { path: '/settings', name: 'settings', icon: Settings, on: 'desk' },
  { path: '/account', name: 'account', icon: CircleUser, on: 'desk' },
  { path: '/more', name: 'more', icon: Menu, on: 'phone' },
];
