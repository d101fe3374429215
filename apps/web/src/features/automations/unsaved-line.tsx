import { useTranslation } from 'react-i18next';
import { useHasDraft } from '../../api/kept-draft.ts';
import { LinkButton } from '../../ui/links.tsx';
import { placeOfDraft } from './draft.ts';

/** Leads back to what was edited and is not saved; nothing where there is nothing. @param id null: a new automation. */
export function UnsavedLine({ id }: { id: string | null }) {
  const { t } = useTranslation();
  if (!useHasDraft(placeOfDraft(id))) return null;
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl bg-sunken p-3">
      <p>{t(id === null ? 'automations.unsaved.begun' : 'automations.unsaved.changes')}</p>
      <LinkButton href={id === null ? '/automations/new' : `/automations/${id}/edit`}>
        {t('automations.unsaved.open')}
      </LinkButton>
    </div>
  );
}
