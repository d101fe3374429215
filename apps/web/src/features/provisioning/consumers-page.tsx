import { Network } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  type Consumer,
  type ConsumerKind,
  consumerKinds,
  type ConsumerLoginSheet,
  defaultTopics,
  NewConsumer,
} from '@station/protocol/consumers';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/format.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { CopiedValue } from './copied-value.tsx';
import { useProvisioning } from './provisioning.ts';
import { ShownOnce } from './shown-once.tsx';

const consumersKey = ['consumers'];

/** Other systems that see and switch the station's devices: a switch each. */
export function ConsumersPage() {
  const { t } = useTranslation();
  const { queries } = useServices();
  // The login is a secret: it goes with the page.
  const [sheet, setSheet] = useState<ConsumerLoginSheet | null>(null);
  // Somebody enters the login there and looks here whether it works.
  const view = useReading(consumersKey, 'GET /api/consumers', { isBusy: () => true });
  const title = t('consumers.title');
  const onSheet = (made: ConsumerLoginSheet | null): void => {
    setSheet(made);
    void queries.invalidateQueries({ queryKey: consumersKey });
  };
  const usable = view.kind === 'shown' && view.freshness.kind !== 'stale';
  return (
    <>
      <PageHead page={title} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <PageTitle title={title}>{t('consumers.lead')}</PageTitle>
      </PageHead>
      <div className="cards max-w-2xl">
        {view.kind === 'loading' && <Loading cards={['h-64']} />}
        {view.kind === 'fault' && <ReadFault title={t('consumers.fault')} {...view} />}
        {sheet !== null && <Sheet key={sheet.password} sheet={sheet} />}
        {view.kind === 'shown' &&
          consumerKinds.map((kind) => {
            const consumer = view.value.find((one) => one.kind === kind);
            return consumer === undefined ? (
              <OffCard key={kind} kind={kind} usable={usable} onSheet={onSheet} />
            ) : (
              <OnCard key={kind} consumer={consumer} usable={usable} onSheet={onSheet} />
            );
          })}
      </div>
    </>
  );
}

type CardProps = { usable: boolean; onSheet: (sheet: ConsumerLoginSheet | null) => void };

function OnCard({ consumer, usable, onSheet }: CardProps & { consumer: Consumer }) {
  const { t, i18n } = useTranslation();
  const { session } = useServices();
  const [question, ask] = useConfirm();
  const { kind, topic, isConnected, heardAt, devices, leftOut } = consumer;
  const params = { kind };
  const name = t(`consumers.names.${kind}`);
  const askForLogin = (): void =>
    ask({
      title: t('gateways.renewTitle', { name }),
      text: <p>{t('consumers.renewHelp')}</p>,
      confirm: t('gateways.renew'),
      kind: 'primary',
      run: async () => onSheet(await session.call('POST /api/consumers/:kind/login', { params })),
    });
  const askToSwitchOff = (): void =>
    ask({
      title: t('consumers.offTitle', { name }),
      text: <p>{t('consumers.offHelp')}</p>,
      confirm: t('consumers.off'),
      run: async () => {
        await session.call('DELETE /api/consumers/:kind', { params });
        onSheet(null);
      },
    });
  const connection = isConnected === null ? 'unknown' : isConnected ? 'yes' : 'no';
  const heard = heardAt === null ? [] : [t('consumers.heard', { at: formatExact(i18n.language, Date.parse(heardAt)) })];
  return (
    <Card title={name}>
      <p className="-mt-3 mb-3 text-small break-words text-ink-soft">{topic}</p>
      <p className="flex gap-2">
        <ToneIcon tone={isConnected === true ? 'ok' : 'working'} className="mt-0.5" />
        {[t(`consumers.connection.${connection}`), t('gateways.devices', { count: devices }), ...heard].join(dot)}
      </p>
      {leftOut > 0 && <p className="mt-2 text-small text-ink-soft">{t('consumers.leftOut', { count: leftOut })}</p>}
      <div className="mt-4 flex flex-wrap gap-3">
        <Button disabled={!usable} onClick={askForLogin}>
          {t('gateways.renew')}
        </Button>
        <Button disabled={!usable} onClick={askToSwitchOff}>
          {t('consumers.off')}
        </Button>
      </div>
      {question}
    </Card>
  );
}

function OffCard({ kind, usable, onSheet }: CardProps & { kind: ConsumerKind }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const form = useForm({
    body: { properties: { topic: NewConsumer.properties.topic } },
    fields: ['topic'],
    usable,
    send: (body) => session.call('PUT /api/consumers/:kind', { params: { kind }, body }),
    onDone: onSheet,
  });
  return (
    <Card title={t(`consumers.names.${kind}`)}>
      <p className="-mt-3 mb-4 text-ink-soft">{t(`consumers.about.${kind}`)}</p>
      <form {...form.props} className="space-y-4">
        <Field
          label={t(`consumers.topic.${kind}`)}
          help={t('consumers.topicHelp')}
          {...form.field('topic')}
          defaultValue={defaultTopics[kind]}
          isCode
        />
        <FormEnd form={form} submit={t('consumers.on')} usable={usable} />
      </form>
    </Card>
  );
}

function Sheet({ sheet: { consumer, login, password, isLoginMade } }: { sheet: ConsumerLoginSheet }) {
  const { t } = useTranslation();
  const view = useProvisioning();
  const broker = view.kind === 'shown' ? view.value.broker : null;
  const { kind, topic } = consumer;
  const what = (value: 'broker' | 'port' | 'user' | 'password'): string => t(`consumers.what.${value}`);
  return (
    <ShownOnce
      heading="h2"
      title={
        <>
          <Network aria-hidden className="size-5 shrink-0" />
          {t('gateways.sheet', { name: t(`consumers.names.${kind}`) })}
        </>
      }
      help={t(`consumers.enter.${kind}`)}
    >
      <dl className="divide-y divide-line">
        {broker && <CopiedValue what={what('broker')} value={broker.host} />}
        {broker && <CopiedValue what={what('port')} value={String(broker.port)} />}
        <CopiedValue what={what('user')} value={login} />
        <CopiedValue what={what('password')} value={password} />
        <CopiedValue what={t(`consumers.topic.${kind}`)} value={topic} />
      </dl>
      {!isLoginMade && <p className="mt-4">{t('consumers.notMade')}</p>}
    </ShownOnce>
  );
}
