import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';

/** What is edited is not what is saved: it was begun before, and kept. */
export function UnsavedNote({ onDiscard }: { onDiscard: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="col-span-full flex flex-wrap items-center justify-between gap-3 rounded-xl bg-sunken p-3">
      <p role="status">{t('draft.found')}</p>
      <Button onClick={onDiscard}>{t('draft.discard')}</Button>
    </div>
  );
}
