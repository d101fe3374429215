import { Plus, SearchX, ToggleRight } from 'lucide-react';
import { type ComponentType, useDeferredValue, useMemo, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import type { Device } from '@station/protocol/devices';
import { isManager } from '@station/protocol/roles';
import { type DeviceTypeMap, useDeviceOutline, useDeviceTypes, useZones } from '../../api/devices.ts';
import type { Freshness } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { typeName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyNote } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { DeviceFilters } from './device-filters.tsx';
import {
  choose,
  countMarks,
  isFiltered,
  type ListChoice,
  type Listed,
  readChoice,
  type SortKey,
  writeChoice,
} from './device-list-decide.ts';
import { DeviceList, DeviceTable } from './device-table.tsx';
import { ManyBar, RemovalNote } from './many-devices.tsx';
import { useRemoval } from './use-removal.ts';

/** What the page shows of firmware, which is another feature. */
export type FirmwareParts = {
  offerOf: (device: Device) => string | null;
  Dialog: ComponentType<{ devices: readonly Device[]; onClose: () => void }>;
};

/** All devices: found, sorted, and changed many at once. */
export function DevicesPage({ firmware }: { firmware: FirmwareParts }) {
  const { t } = useTranslation();
  const view = useDeviceOutline();
  const types = useDeviceTypes();
  const zones = useZones();
  const mayManage = isManager(useUser().role);
  const freshness = view.kind === 'shown' ? view.freshness : undefined;
  return (
    <>
      <PageHead page={t('nav.devices')} {...(freshness && { freshness })}>
        <div className="flex flex-col gap-4 sm:flex-row sm:items-start sm:justify-between">
          <div>
            <PageTitle title={t('nav.devices')}>
              {view.kind === 'shown' && t('find.devices', { count: view.value.length })}
            </PageTitle>
          </div>
          {mayManage && (
            <LinkButton href="/add" className="shrink-0 self-start">
              <Plus aria-hidden className="size-5" />
              {t('home.add')}
            </LinkButton>
          )}
        </div>
      </PageHead>
      {view.kind === 'fault' && <ReadFault title={t('device.fault')} {...view} />}
      {view.kind === 'shown' && view.value.length === 0 && (
        <EmptyNote icon={ToggleRight} title={t('home.noDevices.title')} help={t('home.noDevices.help')} />
      )}
      {view.kind === 'shown' && view.value.length > 0 && types !== null && zones !== null ? (
        <Shown
          devices={view.value}
          types={types}
          zones={zones}
          freshness={view.freshness}
          mayManage={mayManage}
          firmware={firmware}
        />
      ) : (
        view.kind !== 'fault' &&
        !(view.kind === 'shown' && view.value.length === 0) && <Loading cards={['h-11', 'h-11 w-64', 'h-96']} />
      )}
    </>
  );
}

function Shown({
  devices,
  types,
  zones,
  freshness,
  mayManage,
  firmware: { offerOf, Dialog: FirmwareDialog },
}: {
  devices: readonly Device[];
  types: DeviceTypeMap;
  zones: readonly { id: string; name: string }[];
  freshness: Freshness;
  mayManage: boolean;
  firmware: FirmwareParts;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const isWide = useIsWide();
  const stale = freshness.kind === 'stale';
  const [choice, change] = useListChoice();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [isUpdating, setUpdating] = useState(false);
  const removal = useRemoval();
  const all = useMemo(() => {
    const zoneNames = new Map(zones.map(({ id, name }) => [id, name] as const));
    const toListed = (device: Device): Listed => ({
      device,
      zoneName: zoneNames.get(device.zoneId ?? '') ?? null,
      typeName: typeName(locale, device.type, types.of(device)),
      offered: offerOf(device),
    });
    return devices.map(toListed);
  }, [devices, zones, types, locale, offerOf]);
  const { state } = removal;
  const leaving = state.kind === 'waiting' || state.kind === 'sending' ? state.ids : noIds;
  const deferred = useDeferredValue(choice);
  const listed = useMemo(() => {
    const gone = new Set(leaving);
    return choose(
      all.filter(({ device }) => !gone.has(device.id)),
      deferred,
      locale,
    );
  }, [all, deferred, locale, leaving]);
  const known = useMemo(
    () =>
      [...new Map(all.map((one) => [one.device.type, one.typeName])).entries()].map(([type, name]) => ({ type, name })),
    [all],
  );
  // What the filter hides is not changed without being seen.
  const chosen = listed.filter(({ device }) => picked.has(device.id)).map(({ device }) => device);
  const pick = useMemo(
    () =>
      mayManage
        ? (id: string, isChosen: boolean): void =>
            setPicked((before) =>
              isChosen ? new Set([...before, id]) : new Set([...before].filter((one) => one !== id)),
            )
        : null,
    [mayManage],
  );
  const clear = (): void => setPicked(new Set());
  const sort = (key: SortKey): void => change({ sort: key, descending: choice.sort === key && !choice.descending });
  const list = { listed, types, chosen: picked, onChoose: pick };
  return (
    <Dimmable stale={stale} className={chosen.length > 0 || state.kind !== 'none' ? 'pb-32' : ''}>
      <DeviceFilters
        choice={choice}
        onChoose={change}
        counts={countMarks(all)}
        zones={zones}
        types={known}
        withSort={!isWide}
      />
      <div className="mb-2 flex min-h-11 flex-wrap items-center justify-between gap-x-2">
        <p role="status" className="px-1 text-small text-ink-soft">
          {isFiltered(choice) && t('devices.shown', { count: listed.length, total: all.length })}
        </p>
        <div className="-mr-4 ml-auto flex flex-wrap">
          {isFiltered(choice) && (
            <Button kind="quiet" onClick={() => change({ text: '', marks: [], zone: null, type: null })}>
              {t('devices.filter.clear')}
            </Button>
          )}
          {mayManage && listed.length > 0 && chosen.length < listed.length && (
            <Button kind="quiet" onClick={() => setPicked(new Set(listed.map(({ device }) => device.id)))}>
              {t('devices.many.all')}
            </Button>
          )}
        </div>
      </div>
      {listed.length === 0 ? (
        <EmptyNote icon={SearchX} title={t('devices.none.title')} help={t('devices.none.help')} />
      ) : isWide ? (
        <DeviceTable {...list} choice={choice} onSort={sort} />
      ) : (
        <DeviceList {...list} />
      )}
      {chosen.length > 0 && state.kind === 'none' && (
        <ManyBar
          devices={chosen}
          usable={!stale}
          onFirmware={() => setUpdating(true)}
          onRemove={() => {
            removal.begin(chosen.map(({ id }) => id));
            clear();
          }}
          onClear={clear}
        />
      )}
      {isUpdating && <FirmwareDialog devices={chosen} onClose={() => setUpdating(false)} />}
      <RemovalNote removal={removal} nameOf={(id) => all.find(({ device }) => device.id === id)?.device.name ?? ''} />
    </Dimmable>
  );
}

const noIds: readonly string[] = [];

/** The choice in the address: it survives a reload, and can be sent to somebody. */
function useListChoice(): [ListChoice, (change: Partial<ListChoice>) => void] {
  const [search, setSearch] = useSearchParams();
  const choice = useMemo(() => readChoice(search), [search]);
  return [choice, (change) => setSearch((now) => writeChoice({ ...readChoice(now), ...change }), { replace: true })];
}

const wide = '(width >= 64rem)';

const useIsWide = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      const query = matchMedia(wide);
      query.addEventListener('change', listener);
      return () => query.removeEventListener('change', listener);
    },
    () => matchMedia(wide).matches,
  );
