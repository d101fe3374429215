import { Download, FileSpreadsheet } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ManualAdd, ManualProvisionings, Provisioning } from '@station/protocol/provisioning';
import type { Zone } from '@station/protocol/devices';
import { useDevices, useZones, zonesKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { Button, buttonLook } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import {
  type DeviceList,
  exampleList,
  type ListLine,
  loginsCsv,
  mostDevices,
  readList,
  zoneKey,
} from './device-list.ts';
import { DeviceTable, type TableRow } from './device-table.tsx';
import { useFollowProvisioning } from './follow-provisioning.ts';
import { WayPage } from './page-frame.tsx';
import { useManualAdd, useProvisioning } from './provisioning.ts';

type Made = { logins: ManualProvisionings; lines: readonly ListLine[] };

/** Many devices from a CSV file: what is in it, then a file with their logins. */
export function ListPage() {
  const { t } = useTranslation();
  // The logins are secrets: they go with the page.
  const [made, setMade] = useState<Made | null>(null);
  return (
    <WayPage title={t('provisioning.list.title')} lead={t('provisioning.list.lead', { max: mostDevices })}>
      {made ? <MadeLogins made={made} onAnother={() => setMade(null)} /> : <ChooseList onMade={setMade} />}
    </WayPage>
  );
}

function ChooseList({ onMade }: { onMade: (made: Made) => void }) {
  const { t } = useTranslation();
  const devices = useDevices();
  const zones = useZones();
  const [text, setText] = useState<string | null>(null);
  const [isUnreadable, setIsUnreadable] = useState(false);
  const read = async (file: File): Promise<void> => {
    try {
      // A file in another encoding, or no text at all, is refused rather than garbled.
      setText(new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()));
      setIsUnreadable(false);
    } catch {
      setText(null);
      setIsUnreadable(true);
    }
  };
  const isReady = devices.kind === 'shown' && zones !== null;
  const list = text === null || !isReady ? null : readList(text, { devices: devices.value, zones });
  return (
    <>
      <Card title={t('provisioning.list.file')}>
        <p className="-mt-2 mb-4 text-ink-soft">{t('provisioning.list.columns')}</p>
        <div className="flex flex-wrap gap-3">
          <label
            className={classNames(
              buttonLook(list?.kind === 'lines' ? 'plain' : 'primary'),
              'cursor-pointer has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
            )}
          >
            <FileSpreadsheet aria-hidden className="size-5" />
            {t(list === null ? 'provisioning.list.choose' : 'provisioning.list.another')}
            <input
              type="file"
              accept=".csv,text/csv,text/plain"
              className="sr-only"
              onChange={({ target }) => {
                const file = target.files?.[0];
                target.value = '';
                if (file) void read(file);
              }}
            />
          </label>
          <Button kind="quiet" onClick={() => save('devices.csv', exampleList)}>
            <Download aria-hidden className="size-5" />
            {t('provisioning.list.template')}
          </Button>
        </div>
        {(isUnreadable || (list !== null && list.kind !== 'lines')) && (
          <p role="alert" className="mt-4 flex gap-3 rounded-xl bg-fault-soft p-3">
            <ToneIcon tone="fault" className="mt-0.5" />
            <ListFault list={list} />
          </p>
        )}
      </Card>
      {list?.kind === 'lines' && <Preview lines={list.lines} zones={zones ?? []} onMade={onMade} />}
    </>
  );
}

function ListFault({ list }: { list: DeviceList | null }) {
  const { t } = useTranslation();
  if (list?.kind === 'empty') return t('provisioning.list.empty');
  if (list?.kind === 'no_column') return t('provisioning.list.noColumn');
  if (list?.kind === 'too_many') return t('provisioning.list.tooMany', { count: list.count, max: mostDevices });
  return t('provisioning.list.unreadable');
}

function Preview({
  lines,
  zones,
  onMade,
}: {
  lines: readonly ListLine[];
  zones: readonly Zone[];
  onMade: (made: Made) => void;
}) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const nameOf = useTypeName();
  const add = useManualAdd();
  const wrong = lines.filter(({ fault }) => fault !== null).length;
  const toBody = async (): Promise<ManualAdd> => {
    const ids = new Map(zones.map(({ id, name }) => [zoneKey(name), id]));
    for (const { zone } of lines) {
      if (zone === '' || ids.has(zoneKey(zone))) continue;
      const { id } = await session.call('POST /api/zones', { body: { name: zone } });
      ids.set(zoneKey(zone), id);
      void queries.invalidateQueries({ queryKey: zonesKey });
    }
    const devices = lines.map(({ externalId, type, name, zone }) => ({
      externalId,
      type,
      ...(name !== '' && { name }),
      zoneId: ids.get(zoneKey(zone)) ?? null,
    }));
    return { devices };
  };
  return (
    <Card title={t('provisioning.list.preview')}>
      <p role="status" className="-mt-2 mb-4 flex gap-2">
        <ToneIcon tone={wrong > 0 ? 'fault' : 'ok'} className="mt-0.5" />
        {wrong > 0
          ? t('provisioning.list.wrong', { count: wrong })
          : t('provisioning.list.ready', { count: lines.length })}
      </p>
      <DeviceTable
        label={t('provisioning.list.preview')}
        rows={lines.map((line) => ({
          key: line.line,
          cells: [
            String(line.line),
            line.externalId,
            line.type === '' ? '' : nameOf(line.type),
            line.name,
            line.isNewZone ? t('provisioning.list.newZone', { zone: line.zone }) : line.zone,
          ],
          ...stateOf(line),
        }))}
        heads={(['line', 'state', 'id', 'type', 'name', 'zone'] as const).map((head) => t(`provisioning.list.${head}`))}
      />
      {add.error && (
        <div className="mt-4">
          <ProblemNote error={add.error} />
        </div>
      )}
      {wrong === 0 && (
        <Button
          kind="primary"
          className="mt-4"
          busy={add.isPending}
          onClick={() => add.mutate(toBody, { onSuccess: (logins) => onMade({ logins, lines }) })}
        >
          {t('provisioning.list.submit', { count: lines.length })}
        </Button>
      )}
    </Card>
  );

  function stateOf({ fault, isKnown }: ListLine): Pick<TableRow, 'tone' | 'state'> {
    if (fault === null)
      return isKnown
        ? { tone: 'attention', state: t('provisioning.list.known') }
        : { tone: 'ok', state: t('provisioning.list.ok') };
    const state =
      typeof fault === 'string'
        ? t(`provisioning.list.fault.${fault}`)
        : t('provisioning.list.fault.twice', { line: fault.twiceOn });
    return { tone: 'fault', state };
  }
}

/** The logins to download, and who of them is online. */
function MadeLogins({ made: { logins, lines }, onAnother }: { made: Made; onAnother: () => void }) {
  const { t } = useTranslation();
  useFollowProvisioning();
  const view = useProvisioning();
  const nameOf = useTypeName();
  const [isDownloaded, setIsDownloaded] = useState(false);
  const known = new Map(view.kind === 'shown' ? view.value.provisionings.map((one) => [one.id, one]) : []);
  const now = logins.map(({ provisioning }) => known.get(provisioning.id) ?? provisioning);
  const done = now.filter(({ status }) => status === 'succeeded').length;
  const zoneOf = new Map(lines.map(({ externalId, zone }) => [externalId, zone]));
  return (
    <Card title={t('provisioning.list.made', { count: logins.length })}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('provisioning.list.madeHelp')}</p>
      <div className="flex flex-wrap items-center gap-3">
        <Button
          kind="primary"
          onClick={() => {
            save('logins.csv', loginsCsv(logins, lines));
            setIsDownloaded(true);
          }}
        >
          <Download aria-hidden className="size-5" />
          {t('provisioning.list.download')}
        </Button>
        <Button onClick={onAnother}>{t('provisioning.list.another')}</Button>
        <p role="status" className="text-small text-ok">
          {isDownloaded && t('provisioning.list.downloaded')}
        </p>
      </div>
      <p role="status" className="my-4 font-strong">
        {t('provisioning.list.online', { done, total: logins.length })}
      </p>
      <DeviceTable
        label={t('provisioning.list.made', { count: logins.length })}
        heads={(['id', 'state', 'type', 'name', 'zone'] as const).map((head) => t(`provisioning.list.${head}`))}
        rows={now.map((one) => ({
          key: one.id,
          cells: [
            one.externalId,
            one.deviceType === null ? '' : nameOf(one.deviceType),
            one.name,
            zoneOf.get(one.externalId) ?? '',
          ],
          ...progressOf(one),
        }))}
      />
    </Card>
  );

  function progressOf({ status }: Provisioning): Pick<TableRow, 'tone' | 'state'> {
    if (status === 'queued' || status === 'writing' || status === 'waiting')
      return { tone: 'working', state: t('provisioning.list.status.waiting') };
    const tone = status === 'succeeded' ? 'ok' : 'fault';
    return { tone, state: t(`provisioning.list.status.${status}`) };
  }
}

/** Gives a text to the person as a file. */
function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Later: some browsers read it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
