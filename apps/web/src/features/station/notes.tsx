import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';

const longText = 320;

/** What a release says about itself: text as it was written, or a link when the notes are an address. */
export function Notes({ notes }: { notes: string | null }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const text = notes?.trim() ?? '';
  if (text === '') return <p className="mt-1 text-ink-soft">{t('station.release.noNotes')}</p>;
  if (/^https?:\/\/\S+$/.test(text)) {
    return (
      <a
        href={text}
        target="_blank"
        rel="noreferrer"
        className="mt-1 inline-flex min-h-11 items-center font-strong text-accent underline"
      >
        {t('station.release.readNotes')}
      </a>
    );
  }
  const long = text.length > longText || text.split('\n').length > 6;
  return (
    <div className="mt-2">
      <h4 className="sr-only">{t('station.release.notes')}</h4>
      <p className={long && !all ? 'line-clamp-5 whitespace-pre-line' : 'whitespace-pre-line'}>{text}</p>
      {long && (
        <Button kind="quiet" className="-ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </div>
  );
}
