import { Clapperboard } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { AutomationsPage } from '../features/automations/automations-page.tsx';
import { LinkRow } from '../ui/links.tsx';

/** All automations, and the way to the scenes. */
export function AutomationsPlace() {
  const { t } = useTranslation();
  return (
    <>
      <AutomationsPage />
      <div className="mt-6">
        <LinkRow href="/scenes" icon={Clapperboard} title={t('scenes.title')} help={t('scenes.lead')} />
      </div>
    </>
  );
}
