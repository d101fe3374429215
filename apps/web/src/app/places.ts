import { CircleUser, History, House, Menu, Server, Settings, Users, Workflow, type LucideIcon } from 'lucide-react';
import { lazy, type ComponentType } from 'react';
import { loadMoreTexts } from '../i18n/more-texts.ts';

/** A place of the app: where it is, how it is called in the bar, and the chunk it comes in. */
export type Place = {
  path: string;
  name: 'home' | 'automations' | 'activity' | 'station' | 'members' | 'settings' | 'account' | 'more';
  icon: LucideIcon;
  /** A desk has room for all but `phone`; a phone shows those that are on its bar, the others are reached by "more". */
  on: 'both' | 'desk' | 'phone';
  Page: ComponentType;
  preload: () => Promise<unknown>;
};

function place<Module extends object>(
  path: string,
  { name, icon, on }: Pick<Place, 'name' | 'icon' | 'on'>,
  load: () => Promise<Module>,
  pick: (module: Module) => ComponentType,
): Place {
  return { path, name, icon, on, preload: load, Page: lazy(async () => ({ default: pick(await load()) })) };
}

/** A page whose texts do not come with the first ones. */
async function withTexts<Module>(page: Promise<Module>): Promise<Module> {
  const [module] = await Promise.all([page, loadMoreTexts()]);
  return module;
}

/** The bar shows these, four of them on a phone; the address of each is its path. */
export const places: readonly Place[] = [
  place(
    '/',
    { name: 'home', icon: House, on: 'both' },
    () => import('../pages/home/home-page.tsx'),
    (module) => module.HomePage,
  ),
  place(
    '/automations',
    { name: 'automations', icon: Workflow, on: 'both' },
    () => withTexts(import('../pages/automations/automations-page.tsx')),
    (module) => module.AutomationsPage,
  ),
  place(
    '/activity',
    { name: 'activity', icon: History, on: 'both' },
    () => import('../pages/activity/activity-page.tsx'),
    (module) => module.ActivityPage,
  ),
  place(
    '/station',
    { name: 'station', icon: Server, on: 'desk' },
    () => import('../pages/station/station-page.tsx'),
    (module) => module.StationPage,
  ),
  place(
    '/members',
    { name: 'members', icon: Users, on: 'desk' },
    () => withTexts(import('../pages/members/members-page.tsx')),
    (module) => module.MembersPage,
  ),
  place(
    '/settings',
    { name: 'settings', icon: Settings, on: 'desk' },
    () => withTexts(import('../pages/settings/settings-page.tsx')),
    (module) => module.SettingsPage,
  ),
  place(
    '/account',
    { name: 'account', icon: CircleUser, on: 'desk' },
    () => withTexts(import('../pages/account/account-page.tsx')),
    (module) => module.AccountPage,
  ),
  place(
    '/more',
    { name: 'more', icon: Menu, on: 'phone' },
    () => withTexts(import('../pages/more/more-page.tsx')),
    (module) => module.MorePage,
  ),
];

const loadDevicePage = () => import('../pages/device/device-page.tsx');

/** One device, reached from its tile. */
export const DevicePage = lazy(async () => ({ default: (await loadDevicePage()).DevicePage }));

const loadAutomationPage = () => withTexts(import('../pages/automations/automation-page.tsx'));
const loadEditPage = () => withTexts(import('../pages/automations/edit-page.tsx'));

/** One automation, reached from the list; and where it is put into words. */
export const AutomationPage = lazy(async () => ({ default: (await loadAutomationPage()).AutomationPage }));
export const NewAutomationPage = lazy(async () => ({ default: (await loadEditPage()).NewAutomationPage }));
export const EditAutomationPage = lazy(async () => ({ default: (await loadEditPage()).EditAutomationPage }));

/** Fetches the pages that are not open yet. */
export const preloads: readonly (() => Promise<unknown>)[] = [
  ...places.map(({ preload }) => preload),
  loadDevicePage,
  loadAutomationPage,
  loadEditPage,
];
