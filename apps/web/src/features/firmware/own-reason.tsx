import { useTranslation } from 'react-i18next';

/** The reason as station or device gave it, in English, small, for whoever wants to know exactly. */
export function OwnReason({ words }: { words: string | null }) {
  const { t } = useTranslation();
  if (words === null || words === '') return null;
  return (
    <p className="text-small text-ink-soft">
      {t('reason.words')}: <q lang="en">{words}</q>
    </p>
  );
}
