import { createElement, lazy, type ComponentType } from 'react';
import { loadLaterTexts } from '../i18n/i18n.ts';
import { placeMarks, type PlaceMark } from './place-marks.ts';

/** A place of the app and its chunk. */
export type Place = PlaceMark & { Page: ComponentType; preload: () => Promise<unknown> };

/** A page whose texts do not come with the first ones. */
async function withTexts<Module>(page: Promise<Module>): Promise<Module> {
  const [module] = await Promise.all([page, loadLaterTexts()]);
  return module;
}

const loads: Record<PlaceMark['name'], () => Promise<ComponentType>> = {
  home: async () => (await import('./home-page.tsx')).HomePage,
  automations: async () => (await withTexts(import('../features/automations/automations-page.tsx'))).AutomationsPage,
  activity: async () => (await import('../features/devices/activity-page.tsx')).ActivityPage,
  firmware: async () => (await withTexts(import('../features/firmware/firmware-page.tsx'))).FirmwarePage,
  station: async () => (await withTexts(import('../features/station/station-page.tsx'))).StationPage,
  cloud: async () => (await withTexts(import('../features/cloud/cloud-page.tsx'))).CloudPage,
  members: async () => (await withTexts(import('../features/people/members-page.tsx'))).MembersPage,
  settings: async () => (await withTexts(import('../features/settings/settings-page.tsx'))).SettingsPage,
  account: async () => (await withTexts(import('../features/session/account-page.tsx'))).AccountPage,
  more: async () => (await withTexts(import('./more-page.tsx'))).MorePage,
};

/** The bar shows these, four of them on a phone; the address of each is its path. */
export const places: readonly Place[] = placeMarks.map((mark) => ({
  ...mark,
  preload: loads[mark.name],
  Page: lazy(async () => ({ default: await loads[mark.name]() })),
}));

const loadDevicePage = () =>
  withTexts(
    Promise.all([import('../features/devices/device-page.tsx'), import('../features/firmware/device-bar.tsx')]),
  );

/** One device, reached from its tile. */
export const DevicePage = lazy(async () => {
  const [{ DevicePage: Page }, { FirmwareCard }] = await loadDevicePage();
  return { default: ({ id }: { id: string }) => createElement(Page, { id, FirmwareCard }) };
});

const loadUnknownDevicesPage = () => withTexts(import('../features/devices/unknown-devices-page.tsx'));

/** Devices that wait to be added, reached from home and from the settings. */
export const UnknownDevicesPage = lazy(async () => ({ default: (await loadUnknownDevicesPage()).UnknownDevicesPage }));

/** Backups, reached from the settings; rarely opened, so not fetched ahead. */
export const BackupPage = lazy(async () => ({
  default: (await withTexts(import('../features/backup/backup-page.tsx'))).BackupPage,
}));

const loadAddDevicePage = () => withTexts(import('./add-device-page.tsx'));

/** Adding devices, reached from home; `way`: one of the other ways. */
export const AddDevicePage = lazy(async () => ({ default: (await loadAddDevicePage()).AddDevicePage }));

const loadAutomationPage = () => withTexts(import('../features/automations/automation-page.tsx'));
const loadEditPage = () => withTexts(import('../features/automations/edit-page.tsx'));

/** One automation, reached from the list, and its editor. */
export const AutomationPage = lazy(async () => ({ default: (await loadAutomationPage()).AutomationPage }));
export const NewAutomationPage = lazy(async () => ({ default: (await loadEditPage()).NewAutomationPage }));
export const EditAutomationPage = lazy(async () => ({ default: (await loadEditPage()).EditAutomationPage }));

/** Fetches the pages that are not open yet. */
export const preloads: readonly (() => Promise<unknown>)[] = [
  ...places.map(({ preload }) => preload),
  loadDevicePage,
  () => import('../features/devices/zone-dialog.tsx'),
  () => import('../features/devices/more-icons.tsx'),
  loadUnknownDevicesPage,
  loadAddDevicePage,
  loadAutomationPage,
  loadEditPage,
];
