import { useTranslation } from 'react-i18next';

/** Also where one lands with an address of one that was deleted. */
export function Gone() {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="text-title font-strong">{t('automations.build.gone')}</h1>
      <p className="mt-2 text-ink-soft">{t('automations.build.goneHelp')}</p>
    </>
  );
}
