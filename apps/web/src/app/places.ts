import { createElement, lazy, type ComponentType } from 'react';
import { isLimited, type Role } from '@station/protocol/roles';
import { loadLaterTexts } from '../i18n/i18n.ts';
import { HomePage } from './home-page.tsx';
import { placeMarks, type PlaceMark } from './place-marks.ts';

/** A place of the app and its chunk. */
export type Place = PlaceMark & { Page: ComponentType };

/** A page whose texts do not come with the first ones. */
async function withTexts<Module>(page: Promise<Module>): Promise<Module> {
  const [module] = await Promise.all([page, loadLaterTexts()]);
  return module;
}

const loads: Record<Exclude<PlaceMark['name'], 'home'>, () => Promise<ComponentType>> = {
  automations: async () => (await withTexts(import('./automations-place.tsx'))).AutomationsPlace,
  devices: async () => (await withTexts(import('./devices-place.tsx'))).DevicesPlace,
  scenes: async () => (await withTexts(import('../features/scenes/scenes-page.tsx'))).ScenesPage,
  activity: async () => (await withTexts(import('../features/devices/activity-page.tsx'))).ActivityPage,
  settings: async () => (await withTexts(import('./settings-place.tsx'))).SettingsPlace,
  account: async () => (await withTexts(import('../features/session/account-page.tsx'))).AccountPage,
  household: async () => (await withTexts(import('./household-place.tsx'))).HouseholdPlace,
  network: async () => (await withTexts(import('./network-place.tsx'))).NetworkPlace,
  updates: async () => (await withTexts(import('./updates-place.tsx'))).UpdatesPlace,
  backup: async () => (await withTexts(import('../features/backup/backup-page.tsx'))).BackupPage,
  notifications: async () =>
    (await withTexts(import('../features/notifications/notifications-page.tsx'))).NotificationsPage,
  members: async () => (await withTexts(import('../features/people/members-page.tsx'))).MembersPage,
  consumers: async () => (await withTexts(import('../features/provisioning/consumers-page.tsx'))).ConsumersPage,
  cloud: async () => (await withTexts(import('../features/cloud/cloud-page.tsx'))).CloudPage,
  diagnostics: async () => (await withTexts(import('./diagnostics-place.tsx'))).DiagnosticsPlace,
  about: async () => (await withTexts(import('../features/settings/about-page.tsx'))).AboutPage,
};

/** The address of each is its path. */
export const places: readonly Place[] = placeMarks.map((mark) => {
  // Part of the first load. React would show a lazy page only 300 ms after its placeholder.
  if (mark.name === 'home') return { ...mark, Page: HomePage };
  const load = loads[mark.name];
  return { ...mark, Page: lazy(async () => ({ default: await load() })) };
});

const loadDevicePage = () =>
  withTexts(
    Promise.all([
      import('../features/devices/device-page.tsx'),
      import('../features/firmware/device-bar.tsx'),
      import('../features/firmware/offers.tsx'),
    ]),
  );

const Nothing = (): null => null;

/** One device, reached from its tile. Firmware is not for those who see some zones only. */
export const DevicePage = lazy(async () => {
  const [{ DevicePage: Page }, { FirmwareCard }, { FirmwareOffer }] = await loadDevicePage();
  return {
    default: ({ id, role }: { id: string; role: Role }) =>
      createElement(Page, {
        id,
        FirmwareCard: isLimited(role) ? Nothing : FirmwareCard,
        FirmwareOffer: isLimited(role) ? Nothing : FirmwareOffer,
      }),
  };
});

/** What would break without a device, a zone or a scene. */
export const UsedByAll = lazy(async () => ({ default: (await withTexts(import('./used-by-all.tsx'))).UsedByAll }));

const loadUnknownDevicesPage = () => withTexts(import('../features/devices/unknown-devices-page.tsx'));

/** Devices that wait to be added, reached from home and from the settings. */
export const UnknownDevicesPage = lazy(async () => ({ default: (await loadUnknownDevicesPage()).UnknownDevicesPage }));

/** The log of the station, reached from the diagnostics; rarely opened, so not fetched ahead. */
export const LogPage = lazy(async () => ({
  default: (await withTexts(import('../features/station/log-page.tsx'))).LogPage,
}));

const loadAddDevicePage = () => withTexts(import('./add-device-page.tsx'));

/** Adding devices, reached from home; `way`: one of the other ways. */
export const AddDevicePage = lazy(async () => ({ default: (await loadAddDevicePage()).AddDevicePage }));

/** Before and after log-in: phones visit it first. */
export const SecurePage = lazy(async () => ({
  default: (await withTexts(import('../features/session/secure-page.tsx'))).SecurePage,
}));

const loadPalette = () => withTexts(import('./palette.tsx'));

/** The search of the app. */
export const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

const loadToastNote = () => import('./toast-note.tsx');

/** What was done, with its Undo. */
export const ToastNote = lazy(async () => ({ default: (await loadToastNote()).ToastNote }));

const loadOperationPin = () => withTexts(import('../features/station/operation-pin.tsx'));

/** Shown on every page while the station is updated. */
export const OperationPin = lazy(async () => ({ default: (await loadOperationPin()).OperationPin }));

const loadScenePlace = () => withTexts(import('./scene-place.tsx'));

/** One scene that is made or changed, reached from the list. */
export const ScenePlace = lazy(async () => ({ default: (await loadScenePlace()).ScenePlace }));

const loadAutomationPage = () => withTexts(import('../features/automations/automation-page.tsx'));
const loadEditPage = () => withTexts(import('../features/automations/edit-page.tsx'));

/** One automation, reached from the list, and its editor. */
export const AutomationPage = lazy(async () => ({ default: (await loadAutomationPage()).AutomationPage }));
export const NewAutomationPage = lazy(async () => ({ default: (await loadEditPage()).NewAutomationPage }));
export const EditAutomationPage = lazy(async () => ({ default: (await loadEditPage()).EditAutomationPage }));

/** Opened so seldom that they are not fetched ahead. */
const seldom: ReadonlySet<string> = new Set(['network', 'backup', 'notifications', 'diagnostics', 'about']);

/** Fetches the pages that are not open yet. */
export const preloads: readonly (() => Promise<unknown>)[] = [
  ...Object.entries(loads).flatMap(([name, load]) => (seldom.has(name) ? [] : [load])),
  loadPalette,
  loadDevicePage,
  () => import('../features/devices/zone-dialog.tsx'),
  () => import('../features/devices/more-icons.tsx'),
  loadOperationPin,
  loadToastNote,
  loadUnknownDevicesPage,
  loadAddDevicePage,
  loadAutomationPage,
  loadEditPage,
  loadScenePlace,
];
