import { CircleUser, History, House, Server, type LucideIcon } from 'lucide-react';
import { lazy, type ComponentType } from 'react';

/** A place of the app: where it is, how it is called in the bar, and the chunk it comes in. */
export type Place = {
  path: string;
  name: 'home' | 'activity' | 'station' | 'account';
  icon: LucideIcon;
  Page: ComponentType;
  preload: () => Promise<unknown>;
};

function place<Module extends object>(
  path: string,
  name: Place['name'],
  icon: LucideIcon,
  load: () => Promise<Module>,
  pick: (module: Module) => ComponentType,
): Place {
  return { path, name, icon, preload: load, Page: lazy(async () => ({ default: pick(await load()) })) };
}

/** The bar shows these, at most four on a phone; the address of each is its path. */
export const places: readonly Place[] = [
  place(
    '/',
    'home',
    House,
    () => import('../pages/home/home-page.tsx'),
    (module) => module.HomePage,
  ),
  place(
    '/activity',
    'activity',
    History,
    () => import('../pages/activity/activity-page.tsx'),
    (module) => module.ActivityPage,
  ),
  place(
    '/station',
    'station',
    Server,
    () => import('../pages/station/station-page.tsx'),
    (module) => module.StationPage,
  ),
  place(
    '/account',
    'account',
    CircleUser,
    () => import('../pages/account/account-page.tsx'),
    (module) => module.AccountPage,
  ),
];

const loadDevicePage = () => import('../pages/device/device-page.tsx');

/** One device, reached from its tile. */
export const DevicePage = lazy(async () => ({ default: (await loadDevicePage()).DevicePage }));

/** Fetches the pages that are not open yet. */
export const preloads: readonly (() => Promise<unknown>)[] = [...places.map(({ preload }) => preload), loadDevicePage];
