import { Search } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useServices } from '../api/services.ts';

/** Opens the search of the app. On a phone it is in the head of each page, on a desk in the side bar. */
export function SearchButton({ className, withWord = false }: { className: string; withWord?: boolean }) {
  const { t } = useTranslation();
  const { finding } = useServices();
  return (
    <button
      type="button"
      aria-label={t('app.search')}
      aria-keyshortcuts="/ Control+K"
      title={t('app.searchKeys')}
      onClick={() => finding.set(true)}
      className={className}
    >
      <Search aria-hidden className="size-5" />
      {withWord && <span aria-hidden>{t('app.search')}</span>}
    </button>
  );
}
