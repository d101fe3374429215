import { type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isManager } from '@station/protocol/roles';
import { useDevices } from '../../api/devices.ts';
import { useUser } from '../../api/services.ts';
import { Loading } from '../../ui/loading.tsx';
import { BackLink } from '../../ui/links.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { Gone } from './automation-parts.tsx';
import { titleOf } from './automation-words.ts';
import { type Surroundings, useAutomation, useSurroundings } from './automations.ts';
import { Builder } from './builder.tsx';
import { sentenceOf } from './sentence.ts';

/** Creates an automation. */
export function NewAutomationPage() {
  const { t } = useTranslation();
  const around = useSurroundings();
  const title = t('builder.titleNew');
  return (
    <>
      <Head title={title} back="/automations" backName={t('builder.back')} />
      <ForManagers>{around === null ? builderLoads : <Builder automation={null} around={around} />}</ForManagers>
    </>
  );
}

/** Edits an existing automation. */
export function EditAutomationPage({ id }: { id: string }) {
  const { t } = useTranslation();
  const view = useAutomation(id);
  const around = useSurroundings();
  const name = view.kind === 'shown' && around !== null ? titleOf(around, view.value) : null;
  const ownName = view.kind === 'shown' ? view.value.name : '';
  const title = ownName === '' ? t('builder.titleEditUnnamed') : t('builder.titleEdit', { name: ownName });
  return (
    <>
      <Head
        title={name === null ? t('automations.title') : title}
        back={name === null ? '/automations' : `/automations/${id}`}
        backName={name ?? t('builder.back')}
      />
      <ForManagers>
        {view.kind === 'fault' &&
          (view.problem.isGone ? <Gone /> : <ReadFault title={t('automations.fault')} {...view} />)}
        {view.kind === 'shown' && around !== null ? (
          <Existing view={view.value} around={around} />
        ) : (
          view.kind !== 'fault' && builderLoads
        )}
      </ForManagers>
    </>
  );
}

function Existing({
  view,
  around,
}: {
  view: NonNullable<Parameters<typeof Builder>[0]['automation']>;
  around: Surroundings;
}) {
  const { t } = useTranslation();
  if (sentenceOf(view.flow) === null) return <p>{t('builder.notHere')}</p>;
  // Changes by other people do not overwrite the draft; saving reports the conflict.
  return <Builder key={view.id} automation={view} around={around} />;
}

function ForManagers({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return !isManager(useUser().role) ? <p>{t('automations.readOnly')}</p> : children;
}

function Head({ title, back, backName }: { title: string; back: string; backName: string }) {
  const devices = useDevices();
  return (
    <PageHead page={title} {...(devices.kind === 'shown' && { freshness: devices.freshness })}>
      <BackLink href={back}>{backName}</BackLink>
      <h1 className="text-title font-strong break-words md:text-value">{title}</h1>
    </PageHead>
  );
}

const builderLoads = <Loading cards={['h-36', 'h-28', 'h-36']} />;
