import { useTranslation } from 'react-i18next';

/** The agent's own reason, in its English, small, for whoever wants to know exactly. */
export function DetailsNote({ words }: { words: string | null }) {
  const { t } = useTranslation();
  if (words === null || words === '') return null;
  return (
    <p className="mt-1 text-small text-ink-soft">
      {t('reason.words')}: <q lang="en">{words}</q>
    </p>
  );
}
