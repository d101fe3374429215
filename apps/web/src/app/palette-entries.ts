import { Archive, CirclePlus, Lock, Plus, type LucideIcon, Network, ScrollText } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { isManager, reaches } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { useDeviceEntries } from '../features/devices/find-devices.ts';
import { useSceneEntries } from '../features/scenes/find-scenes.ts';
import { useSessionEntries } from '../features/session/find-session.ts';
import { useStationEntries } from '../features/station/find-station.ts';
import type { FindEntry } from '../ui/find-entry.ts';
import { placeMarks } from './place-marks.ts';

/** Everything that the search of the app finds, in the order in which it is listed before anything is typed. */
export function usePaletteEntries(open: (path: string) => void): FindEntry[] {
  const { t } = useTranslation();
  const { role } = useUser();
  const mayManage = isManager(role);
  const devices = useDeviceEntries(open);
  const scenes = useSceneEntries();
  const station = useStationEntries();
  const session = useSessionEntries();
  const link = (group: 'page' | 'action', path: string, title: string, icon: LucideIcon, words = ''): FindEntry => ({
    id: path,
    group,
    title,
    words,
    icon,
    run: () => open(path),
  });
  return [
    ...placeMarks
      .filter(({ lowest }) => reaches(role, lowest))
      .map(({ path, name, icon }) => link('page', path, t(`nav.${name}`), icon, t(`find.places.${name}`))),
    ...(role === 'owner' ? [link('page', '/settings/backup', t('backup.link.title'), Archive)] : []),
    ...(mayManage
      ? [
          link('page', '/station/network', t('network.title'), Network),
          link('page', '/station/log', t('log.title'), ScrollText),
        ]
      : []),
    ...(mayManage ? [link('page', '/unknown-devices', t('settings.unknown.title'), CirclePlus)] : []),
    link('page', '/secure', t('secure.title'), Lock),
    ...(mayManage
      ? [
          link('action', '/add', t('home.add'), Plus, t('find.addWords')),
          link('action', '/automations/new', t('find.newAutomation'), Plus),
        ]
      : []),
    ...scenes,
    ...station,
    ...session,
    ...devices,
  ];
}
