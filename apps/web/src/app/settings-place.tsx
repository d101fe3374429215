import { useTranslation } from 'react-i18next';
import { reaches } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { LinkRow } from '../ui/links.tsx';
import { PageHead } from '../ui/page.tsx';
import { isListed, placeMarks } from './place-marks.ts';

/** The settings: one level, a row each. */
export function SettingsPlace() {
  const { t } = useTranslation();
  const { role } = useUser();
  const title = t('settings.title');
  return (
    <>
      <PageHead page={title}>
        <h1 className="text-title font-strong md:text-value">{title}</h1>
      </PageHead>
      <nav aria-label={title}>
        <ul className="settings-list">
          {placeMarks.map(
            (mark) =>
              mark.on === 'settings' &&
              reaches(role, mark.lowest) &&
              isListed(mark, role) && (
                <li key={mark.path}>
                  <LinkRow
                    href={mark.path}
                    icon={mark.icon}
                    title={t(`settings.rows.${mark.name}.title`)}
                    help={t(`settings.rows.${mark.name}.help`)}
                  />
                </li>
              ),
          )}
        </ul>
      </nav>
    </>
  );
}
