import { Network } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useSearch } from 'wouter';
import { type DialectName, discoveryPrefixes, systemNames } from '@station/protocol/gateway-systems';
import { type Gateway, type GatewayLoginSheet, NewGateway } from '@station/protocol/gateways';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { type Tone, ToneIcon } from '../../ui/tone.tsx';
import { CopiedValue } from './copied-value.tsx';
import { HeardCard } from './heard-card.tsx';
import { WayPage } from './page-frame.tsx';
import { useProvisioning } from './provisioning.ts';
import { ShownOnce } from './shown-once.tsx';

const gatewaysKey = ['gateways'];

/** Devices of other systems come through a gateway: which are connected, and connecting another one. */
export function GatewaysPage() {
  const { t } = useTranslation();
  return (
    <WayPage title={t('gateways.title')} lead={t('gateways.lead')}>
      <Connections />
    </WayPage>
  );
}

function Connections() {
  const { t } = useTranslation();
  const { queries } = useServices();
  const [path, navigate] = useLocation();
  const asked = useSearch();
  // The login is a secret: it goes with the page.
  const [sheet, setSheet] = useState<GatewayLoginSheet | null>(null);
  // Somebody enters the login there and looks here whether it works.
  const view = useReading(gatewaysKey, 'GET /api/gateways', { isBusy: () => true });
  const onSheet = (made: GatewayLoginSheet): void => {
    setSheet(made);
    // What the form was filled in with is done.
    navigate(path, { replace: true });
    void queries.invalidateQueries({ queryKey: gatewaysKey });
  };
  if (view.kind === 'loading') return <Loading cards={['h-64']} />;
  if (view.kind === 'fault') return <ReadFault title={t('gateways.fault')} {...view} />;
  const usable = view.freshness.kind !== 'stale';
  return (
    <>
      {sheet !== null && <Sheet key={sheet.password} sheet={sheet} />}
      {view.value.map((gateway) => (
        <GatewayCard key={gateway.id} gateway={gateway} usable={usable} onSheet={onSheet} />
      ))}
      <HeardCard />
      <ConnectCard
        key={asked}
        asked={askedIn(asked)}
        isFirst={view.value.length === 0}
        usable={usable}
        onSheet={onSheet}
      />
    </>
  );
}

const tones: Readonly<Record<Gateway['state'], Tone>> = { online: 'ok', waiting: 'working', offline: 'attention' };

type CardProps = { usable: boolean; onSheet: (sheet: GatewayLoginSheet) => void };

function GatewayCard({ gateway, usable, onSheet }: CardProps & { gateway: Gateway }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [question, ask] = useConfirm();
  const { id, name, dialect, baseTopic, discoveryPrefix, state, devices } = gateway;
  const topics = discoveryPrefix === null ? [baseTopic] : [baseTopic, discoveryPrefix];
  const askForLogin = (): void =>
    ask({
      title: t('gateways.renewTitle', { name }),
      text: <p>{t('gateways.renewHelp')}</p>,
      confirm: t('gateways.renew'),
      kind: 'primary',
      run: async () => onSheet(await session.call('POST /api/gateways/:id/login', { params: { id } })),
    });
  const askToRemove = (): void =>
    ask({
      title: t('gateways.removeTitle', { name }),
      text: <p>{t('gateways.removeHelp', { count: devices })}</p>,
      confirm: t('gateways.remove'),
      run: async () => {
        await session.call('DELETE /api/gateways/:id', { params: { id } });
        await queries.invalidateQueries({ queryKey: gatewaysKey });
      },
    });
  return (
    <Card title={name}>
      <p className="-mt-3 mb-3 text-small break-words text-ink-soft">{[systemNames[dialect], ...topics].join(dot)}</p>
      <p className="flex gap-2">
        <ToneIcon tone={tones[state]} className="mt-0.5" />
        {[t(`gateways.states.${state}`), t('gateways.devices', { count: devices })].join(dot)}
      </p>
      <NotSupported gateway={gateway} />
      <div className="mt-4 flex flex-wrap gap-3">
        <Button disabled={!usable} onClick={askForLogin}>
          {t('gateways.renew')}
        </Button>
        <Button disabled={!usable} onClick={askToRemove}>
          {t('gateways.remove')}
        </Button>
      </div>
      {question}
    </Card>
  );
}

/** What was heard and could not be taken, folded: who misses something opens it. */
function NotSupported({ gateway: { notSupported, notSupportedCount: count } }: { gateway: Gateway }) {
  const { t } = useTranslation();
  if (count === 0) return null;
  const more = count - notSupported.length;
  return (
    <details className="mt-3">
      <summary className="min-h-11 cursor-pointer content-center">
        {t('gateways.notSupported', { number: count })}
      </summary>
      <ul className="space-y-2 text-small">
        {notSupported.map(({ name, reason, detail }) => (
          <li key={[name, reason, detail].join(' ')} className="break-words">
            <span className="font-strong">{name}</span>
            <br />
            {t(`gateways.refusals.${reason}`)}
            {detail !== null && <span className="text-ink-soft"> ({detail})</span>}
          </li>
        ))}
        {more > 0 && <li>{t('gateways.notSupportedMore', { number: more })}</li>}
      </ul>
    </details>
  );
}

/** What a person most likely enters. */
const suggestions: Readonly<Record<DialectName, { name: string; baseTopic: string }>> = {
  zigbee2mqtt: { name: 'Zigbee', baseTopic: 'zigbee2mqtt' },
  tasmota: { name: 'Tasmota', baseTopic: 'tasmota' },
  shelly: { name: 'Shelly', baseTopic: 'shelly' },
  shelly_gen1: { name: 'Shelly Gen1', baseTopic: 'shellies' },
  home_assistant: { name: 'ESPHome', baseTopic: 'esphome' },
};
const dialects = Object.keys(systemNames) as DialectName[];

type Asked = { dialect: DialectName; baseTopic: string };

/** What "Connect it" of a system that was noticed asks for. */
function askedIn(search: string): Asked | null {
  const parts = new URLSearchParams(search);
  const dialect = dialects.find((one) => one === parts.get('system'));
  return dialect === undefined ? null : { dialect, baseTopic: parts.get('topic') ?? suggestions[dialect].baseTopic };
}

/** The limits of its fields. */
const properties = {
  name: NewGateway.properties.name,
  baseTopic: NewGateway.properties.baseTopic,
  discoveryPrefix: NewGateway.properties.discoveryPrefix,
};

function ConnectCard({ asked, isFirst, usable, onSheet }: CardProps & { asked: Asked | null; isFirst: boolean }) {
  const { t } = useTranslation();
  const [dialect, choose] = useState<DialectName>(asked?.dialect ?? 'zigbee2mqtt');
  const { session } = useServices();
  const prefix = discoveryPrefixes[dialect];
  const form = useForm({
    body: { properties },
    fields: prefix === undefined ? ['name', 'baseTopic'] : ['name', 'baseTopic', 'discoveryPrefix'],
    usable,
    send: (texts) => session.call('POST /api/gateways', { body: { ...texts, dialect } }),
    onDone: onSheet,
  });
  return (
    <Card title={t(isFirst ? 'gateways.connect' : 'gateways.connectAnother')}>
      <form {...form.props} className="space-y-4">
        <Select
          label={t('gateways.system')}
          value={dialect}
          onChange={({ target }) => choose(target.value as DialectName)}
        >
          {dialects.map((one) => (
            <option key={one} value={one}>
              {systemNames[one]}
            </option>
          ))}
        </Select>
        <Field
          key={`name ${dialect}`}
          label={t('gateways.name')}
          {...form.field('name')}
          defaultValue={suggestions[dialect].name}
        />
        <Field
          key={`topic ${dialect}`}
          label={t('gateways.baseTopic')}
          help={t(`gateways.systems.${dialect}.topic`)}
          {...form.field('baseTopic')}
          defaultValue={asked?.dialect === dialect ? asked.baseTopic : suggestions[dialect].baseTopic}
          isCode
        />
        {prefix !== undefined && (
          <Field
            key={`prefix ${dialect}`}
            label={t('gateways.discoveryPrefix')}
            help={t('gateways.discoveryHelp')}
            {...form.field('discoveryPrefix')}
            defaultValue={prefix}
            isCode
          />
        )}
        <FormEnd form={form} submit={t('gateways.make')} autoFocus={asked !== null} usable={usable} />
      </form>
      <p className="mt-4 text-small text-ink-soft">{t(`gateways.systems.${dialect}.limits`)}</p>
    </Card>
  );
}

function Sheet({ sheet: { gateway, login, password, isLoginMade } }: { sheet: GatewayLoginSheet }) {
  const { t } = useTranslation();
  const view = useProvisioning();
  const broker = view.kind === 'shown' ? view.value.broker : null;
  const { name, dialect, baseTopic, discoveryPrefix } = gateway;
  return (
    <ShownOnce
      heading="h2"
      title={
        <>
          <Network aria-hidden className="size-5 shrink-0" />
          {t('gateways.sheet', { name })}
        </>
      }
      help={`${t(`gateways.systems.${dialect}.sheet`)} ${t('gateways.sheetHelp')}`}
    >
      <dl className="divide-y divide-line">
        {broker && <CopiedValue what="server" value={`mqtt://${broker.host}:${broker.port}`} />}
        <CopiedValue what="base_topic" value={baseTopic} />
        {discoveryPrefix !== null && <CopiedValue what="discovery_prefix" value={discoveryPrefix} />}
        <CopiedValue what="user" value={login} />
        <CopiedValue what="password" value={password} />
      </dl>
      {!isLoginMade && <p className="mt-4">{t('gateways.notMade')}</p>}
    </ShownOnce>
  );
}
