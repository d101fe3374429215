import { Archive, Bell, CirclePlus, Lock } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { isLimited, isManager, reaches } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { SettingsPage } from '../features/settings/settings-page.tsx';
import { LinkRow } from '../ui/links.tsx';
import { placeMarks } from './place-marks.ts';

/** The settings, with the places that the bar does not show. */
export function SettingsPlace() {
  const { t } = useTranslation();
  const { role } = useUser();
  const isEncrypted = location.protocol === 'https:';
  const rows = [
    ...placeMarks
      .filter((mark) => mark.on === 'settings')
      .filter(({ lowest }) => reaches(role, lowest))
      .map(({ path, name, icon }) => ({ path, icon, title: t(`nav.${name}`), help: t(`settings.placeHelp.${name}`) })),
    !isLimited(role) && {
      path: '/settings/notifications',
      icon: Bell,
      title: t('notifications.link.title'),
      help: t('notifications.link.help'),
    },
    role === 'owner' && {
      path: '/settings/backup',
      icon: Archive,
      title: t('backup.link.title'),
      help: t('backup.link.help'),
    },
    isManager(role) && {
      path: '/unknown-devices',
      icon: CirclePlus,
      title: t('settings.unknown.title'),
      help: t('settings.unknown.help'),
    },
    { path: '/secure', icon: Lock, title: t('secure.title'), help: t(`secure.row.${isEncrypted ? 'on' : 'off'}`) },
  ].filter((row) => row !== false);
  return (
    <SettingsPage>
      <nav aria-label={t('settings.places')}>
        <ul className="settings-list">
          {rows.map(({ path, icon, title, help }) => (
            <li key={path}>
              <LinkRow href={path} icon={icon} title={title} help={help} />
            </li>
          ))}
        </ul>
      </nav>
    </SettingsPage>
  );
}
