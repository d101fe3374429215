import { Bluetooth, ChevronRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Candidate, ProvisioningView } from '@station/protocol/provisioning';
import { useDevices, useDeviceTypes } from '../../api/devices.ts';
import { typeName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Card, EmptyNote, Skeleton } from '../../ui/card.tsx';
import { ToneDisc } from '../../ui/tone.tsx';
import type { DeviceParts } from './device-parts.ts';
import { arrange, doubtfulAddresses, type NearRow, type Signal, signalOf } from './nearby.ts';
import { candidateName, radioNote } from './provisioning-words.ts';

/** How long the list is sorted by strength, from the first device on; then every row keeps its place. */
const sortedForMs = 3_000;

/** The devices that are near and wait to be added. */
export function NearCard({
  view,
  hidden,
  Icon,
  usable,
  onChoose,
}: {
  view: ProvisioningView;
  /** External ids of those that are shown elsewhere. */
  hidden: ReadonlySet<string>;
  Icon: DeviceParts['Icon'];
  usable: boolean;
  onChoose: (candidate: Candidate) => void;
}) {
  const { t } = useTranslation();
  const rows = useRows(view.candidates).filter(({ candidate }) => !hidden.has(candidate.externalId));
  const note = radioNote(t, view.radio);
  const doubtful = doubtfulAddresses(rows);
  const near = rows.filter(({ isLost }) => !isLost).length;
  return (
    <Card title={t('provisioning.near.title')}>
      <p role="status" className="sr-only">
        {note ? note.title : t('provisioning.near.count', { count: near })}
      </p>
      {note && (
        <div className="flex gap-4 not-last:mb-4">
          <ToneDisc tone={note.tone} />
          <div className="min-w-0">
            <h3 className="font-strong">{note.title}</h3>
            <p className="text-ink-soft">{note.help}</p>
          </div>
        </div>
      )}
      {doubtful.size > 0 && (
        <div role="alert" className="flex gap-4 not-last:mb-4">
          <ToneDisc tone="attention" />
          <div className="min-w-0">
            <h3 className="font-strong">{t('provisioning.near.doubt')}</h3>
            <p className="text-ink-soft">{t('provisioning.near.doubtHelp')}</p>
          </div>
        </div>
      )}
      {rows.length > 0 && (
        <ul className="-mx-2 divide-y divide-line md:-mx-3">
          {rows.map((row) => (
            <Row
              key={row.candidate.address}
              row={row}
              isDoubtful={doubtful.has(row.candidate.address)}
              Icon={Icon}
              // While the radio is paused, a device waits for its turn.
              usable={usable && !row.isLost && view.radio.state !== 'unavailable'}
              onChoose={(name) => onChoose({ ...row.candidate, defaultName: name })}
            />
          ))}
        </ul>
      )}
      {note === null && rows.length === 0 && <Nothing searching={view.radio.state === 'scanning'} />}
      {note === null && rows.length > 0 && <Searching />}
    </Card>
  );
}

function useRows(candidates: readonly Candidate[]): readonly NearRow[] {
  const [rows, setRows] = useState<readonly NearRow[]>(() => arrange([], candidates, true));
  const [firstAt, setFirstAt] = useState<number | null>(null);
  useEffect(() => {
    if (firstAt === null && candidates.length > 0) setFirstAt(Date.now());
    const isSorting = firstAt === null || Date.now() - firstAt < sortedForMs;
    setRows((before) => arrange(before, candidates, isSorting));
  }, [candidates, firstAt]);
  return rows;
}

function Searching() {
  const { t } = useTranslation();
  return (
    <p className="mt-3 flex items-center gap-2 text-small text-ink-soft">
      <Bluetooth aria-hidden className="size-4 animate-breathe" />
      {t('provisioning.near.looking')}
    </p>
  );
}

function Nothing({ searching }: { searching: boolean }) {
  const { t } = useTranslation();
  if (searching) {
    return (
      <>
        <EmptyNote
          icon={Bluetooth}
          heading="h3"
          title={t('provisioning.near.none.title')}
          help={t('provisioning.near.none.help')}
        />
        <Searching />
      </>
    );
  }
  return (
    <>
      <Skeleton className="h-16 rounded-xl" />
      <Searching />
    </>
  );
}

function Row({
  row: { candidate, isLost },
  isDoubtful,
  Icon,
  usable,
  onChoose,
}: {
  row: NearRow;
  /** Another one says that it is this device, or looks like it. */
  isDoubtful: boolean;
  Icon: DeviceParts['Icon'];
  usable: boolean;
  /** Called with its name in the reader's language. */
  onChoose: (name: string) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const types = useDeviceTypes();
  const devices = useDevices();
  const { deviceType, deviceId } = candidate;
  const described = deviceType === null ? undefined : types?.named(deviceType);
  const name = candidateName(locale, candidate, described);
  const known = devices.kind === 'shown' ? devices.value.find(({ id }) => id === deviceId) : undefined;
  const type = deviceType === null ? t('provisioning.near.noType') : typeName(locale, deviceType, described);
  const yours = deviceId === null ? null : t('provisioning.near.yours', { name: known?.name ?? name });
  return (
    <li>
      <button
        type="button"
        aria-disabled={!usable || undefined}
        onClick={() => usable && onChoose(name)}
        className="flex min-h-16 w-full items-center gap-4 rounded-xl px-2 py-3 text-left hover:bg-sunken aria-disabled:cursor-default aria-disabled:text-ink-soft aria-disabled:hover:bg-transparent md:px-3"
      >
        <Icon icon={described?.icon} on={false} />
        <span className="min-w-0 flex-1">
          <span className="block font-strong break-words">{name}</span>
          <span className="block text-small break-words text-ink-soft">
            {type}
            {candidate.protocol === 'station' && `${dot}${candidate.externalId}`}
          </span>
          {isDoubtful && (
            <span className="block text-small break-words text-attention">
              {t('provisioning.near.doubt')}
              {dot}
              {candidate.address}
            </span>
          )}
          {yours !== null && <span className="block text-small break-words text-accent">{yours}</span>}
        </span>
        {isLost ? (
          <span className="shrink-0 text-small text-ink-soft">{t('provisioning.near.lost')}</span>
        ) : (
          <Strength signal={signalOf(candidate.rssi)} />
        )}
        <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
      </button>
    </li>
  );
}

const barsOf: Record<Signal, number> = { unknown: 0, weak: 1, good: 2, strong: 3 };

function Strength({ signal }: { signal: Signal }) {
  const { t } = useTranslation();
  return (
    <span className="flex shrink-0 items-center gap-2 text-small text-ink-soft">
      <svg aria-hidden viewBox="0 0 20 20" className="size-5 fill-current">
        {[0, 1, 2].map((bar) => (
          <rect
            key={bar}
            x={1 + bar * 6.5}
            y={12 - bar * 5}
            width="5"
            height={7 + bar * 5}
            rx="1"
            opacity={bar < barsOf[signal] ? 1 : 0.25}
          />
        ))}
      </svg>
      <span className="sr-only sm:not-sr-only">{t(`provisioning.near.signal.${signal}`)}</span>
    </span>
  );
}
