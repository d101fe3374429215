import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../../api/services.ts';
import { BackLink } from '../../ui/links.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';

/** One of the other ways, below the page that lists them. Only for those who may add devices. */
export function WayPage({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  return (
    <>
      <PageHead page={title}>
        <BackLink href="/add">{t('provisioning.title')}</BackLink>
        <PageTitle title={title}>{mayManage ? lead : t('error.forbidden')}</PageTitle>
      </PageHead>
      {mayManage && <div className="cards max-w-3xl">{children}</div>}
    </>
  );
}
