import { useTranslation } from 'react-i18next';
import { PageHead } from '../ui/page.tsx';
import { placeMarks } from './place-marks.ts';
import { LinkRow } from '../ui/links.tsx';

/** On a phone: the places that the bar has no room for. */
export function MorePage() {
  const { t } = useTranslation();
  return (
    <>
      <PageHead page={t('more.title')}>
        <h1 className="text-title font-strong md:text-value">{t('more.title')}</h1>
        <p className="text-ink-soft">{t('more.lead')}</p>
      </PageHead>
      <ul className="grid max-w-xl gap-3">
        {placeMarks
          .filter(({ on }) => on === 'desk')
          .map(({ path, name, icon }) => (
            <li key={path}>
              <LinkRow href={path} icon={icon} title={t(`nav.${name}`)} />
            </li>
          ))}
      </ul>
    </>
  );
}
