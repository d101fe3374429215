import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DevicesWifi, DevicesWifiRequest } from '@station/protocol/devices-wifi';
import { useCommand } from '../../api/command.ts';
import { useDevices } from '../../api/devices.ts';
import { useReading } from '../../api/reading.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { ProblemNote, ReadFault } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import {
  countOf,
  toneOfWifi,
  wifiAdvice,
  type WifiChange,
  type WifiDevice,
  wifiHeadline,
} from './devices-wifi-words.ts';
import { devicesWifiKey } from './follow-wifi.ts';
import { WifiForm } from './wifi-form.tsx';

/** Brings the devices to another Wi-Fi: who followed, who did not, and what to do. */
export function DevicesWifiCard({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const view = useReading(devicesWifiKey, 'GET /api/devices/wifi');
  if (view.kind === 'loading') return <Loading cards={['h-48']} />;
  if (view.kind === 'fault') return <ReadFault title={t('devicesWifi.fault')} {...view} />;
  const { change } = view.value;
  return (
    <Card title={t('devicesWifi.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('devicesWifi.help')}</p>
      {change && <Progress key={change.id} change={change} />}
      {change?.state === 'running' ? <Cancel usable={usable} /> : <Start wifi={view.value} usable={usable} />}
    </Card>
  );
}

const afterwards = { reads: devicesWifiKey };

function Start({ wifi: { stationSsid, offer }, usable }: { wifi: DevicesWifi; usable: boolean }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  const start = useCommand(
    (session, body: DevicesWifiRequest | null) => session.call('POST /api/devices/wifi', body === null ? {} : { body }),
    afterwards,
  );
  const dismiss = useCommand((session) => session.call('DELETE /api/devices/wifi/offer'), afterwards);
  const error = start.error ?? dismiss.error;
  if (editing) {
    return (
      <WifiForm
        ssid={null}
        submit={t('devicesWifi.start')}
        usable={usable}
        send={start.mutateAsync}
        onDone={() => setEditing(false)}
        onCancel={() => {
          start.reset();
          setEditing(false);
        }}
      />
    );
  }
  return (
    <>
      {offer && <p className="mb-4 rounded-xl bg-accent-soft p-3">{t('devicesWifi.offer', { ssid: offer.ssid })}</p>}
      <ProblemNote error={error} />
      <div className="mt-4 flex flex-wrap gap-3">
        {stationSsid !== null && (
          <Button
            kind={offer ? 'primary' : 'plain'}
            busy={start.isPending}
            disabled={!usable}
            onClick={() => start.mutate(null)}
            className="break-words"
          >
            {t('devicesWifi.useStation', { ssid: stationSsid })}
          </Button>
        )}
        <Button disabled={!usable || start.isPending} onClick={() => setEditing(true)}>
          {t('devicesWifi.other')}
        </Button>
        {offer && (
          <Button kind="quiet" busy={dismiss.isPending} disabled={!usable} onClick={() => dismiss.mutate()}>
            {t('devicesWifi.dismiss')}
          </Button>
        )}
      </div>
    </>
  );
}

function Cancel({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const cancel = useCommand((session) => session.call('POST /api/devices/wifi/cancel'), afterwards);
  return (
    <div className="mt-4">
      <ProblemNote error={cancel.error} />
      <Button busy={cancel.isPending} disabled={!usable} onClick={() => cancel.mutate()}>
        {t('devicesWifi.cancel')}
      </Button>
      <p className="mt-1 text-small text-ink-soft">{t('devicesWifi.cancelHelp')}</p>
    </div>
  );
}

function Progress({ change }: { change: WifiChange }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const { done, total } = countOf(change);
  const { tone, words } = wifiHeadline(t, change);
  const time = change.endedAt ?? change.startedAt;
  const followed = change.devices.filter(({ state }) => state === 'followed');
  const others = change.devices.filter(({ state }) => state !== 'followed');
  return (
    <div className="mb-4 border-t border-line pt-4">
      <div className="flex gap-3">
        <ToneIcon tone={tone} className="mt-0.5" />
        <div className="min-w-0">
          <p role="status" className="font-strong break-words">
            {words}
          </p>
          <p className="text-small text-ink-soft first-letter:uppercase">
            <Sentence
              text={(mark) => t(change.endedAt === null ? 'devicesWifi.started' : 'devicesWifi.ended', { time: mark })}
              slot={<TimeAgo at={time} />}
            />
          </p>
        </div>
      </div>
      {change.state === 'running' && total > 0 && (
        <div
          role="progressbar"
          aria-label={t('devicesWifi.progress')}
          aria-valuemin={0}
          aria-valuemax={total}
          aria-valuenow={done}
          className="mt-3 h-2 overflow-hidden rounded-full bg-sunken"
        >
          <div className="h-full rounded-full bg-working" style={{ width: `${(100 * done) / total}%` }} />
        </div>
      )}
      {others.length > 0 && <Devices devices={others} />}
      {wifiAdvice(t, change).map((advice) => (
        <p key={advice} className="mt-2">
          {advice}
        </p>
      ))}
      {followed.length > 0 && (
        <Button kind="quiet" className="mt-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? t('devicesWifi.hideFollowed') : t('devicesWifi.showFollowed', { count: followed.length })}
        </Button>
      )}
      {all && <Devices devices={followed} />}
    </div>
  );
}

function Devices({ devices }: { devices: readonly WifiDevice[] }) {
  const { t } = useTranslation();
  const view = useDevices();
  const names = new Map(view.kind === 'shown' ? view.value.map(({ id, name }) => [id, name]) : []);
  return (
    <ul className="mt-3 space-y-2">
      {devices.map(({ deviceId, state, reason }) => (
        <li key={deviceId} className="flex gap-3">
          <ToneIcon tone={toneOfWifi[state]} className="mt-0.5" />
          <div className="min-w-0">
            <p className="break-words">{names.get(deviceId) ?? t('devicesWifi.gone')}</p>
            <p className="text-small text-ink-soft">{t(`devicesWifi.state.${state}`)}</p>
            {reason !== null && (
              <p lang="en" className="text-small text-ink-soft">
                {reason}
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}
