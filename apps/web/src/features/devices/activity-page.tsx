import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { isLimited } from '@station/protocol/roles';
import { useDevices, useDeviceTypes, useZones } from '../../api/devices.ts';
import { useUser } from '../../api/services.ts';
import { useMembers } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { Select } from '../../ui/fields.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { type ActivityFilter, ActivityList } from './activity-list.tsx';

const topics = ['devices', 'automations', 'station', 'people'] as const;
/** Parameters of the address; those of the station's API have the same names. The station refuses other values. */
const keys = ['about', 'deviceId', 'userId', 'text'] as const;
type Filter = Partial<Record<(typeof keys)[number], string>>;

/** What happened at home, and who did it. The filter is in the address. */
export function ActivityPage() {
  const { t } = useTranslation();
  const view = useDevices();
  const types = useDeviceTypes();
  const [search, setSearch] = useSearchParams();
  const devices = new Map(view.kind === 'shown' ? view.value.map((device) => [device.id, device]) : []);
  const stale = view.kind === 'shown' && view.freshness.kind === 'stale';
  const filter: Filter = Object.fromEntries(keys.flatMap((key) => (search.get(key) ? [[key, search.get(key)]] : [])));
  const choose = (change: Filter): void =>
    setSearch(new URLSearchParams(Object.entries({ ...filter, ...change }).filter(([, value]) => value !== '')), {
      replace: true,
    });
  const { text = '', ...asked } = filter;
  return (
    <>
      <PageHead page={t('activity.title')} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <PageTitle title={t('activity.title')}>{t('activityLog.lead')}</PageTitle>
      </PageHead>
      <div className="max-w-3xl">
        <Filters filter={filter} onChoose={choose} />
        <section
          aria-label={t('activity.title')}
          className={classNames(
            'rounded-2xl border border-line bg-surface p-4 text-ink shadow-lift transition-[filter] duration-500 md:p-6',
            stale && 'dimmed',
          )}
        >
          <ActivityList
            key={JSON.stringify(asked)}
            filter={asked as ActivityFilter}
            text={text}
            nameOf={(id) => {
              const name = devices.get(id)?.name;
              const isThere = name !== undefined;
              return { name: name ?? (view.kind === 'shown' ? t('activity.removed') : '…'), isThere };
            }}
            typeOf={(id) => {
              const device = devices.get(id);
              return device && types?.of(device);
            }}
          />
        </section>
      </div>
    </>
  );
}

function Filters({ filter, onChoose }: { filter: Filter; onChoose: (change: Filter) => void }) {
  const { t } = useTranslation();
  const view = useDevices();
  // Those who see some zones only learn of their devices alone.
  const seesAll = !isLimited(useUser().role);
  const zones = new Map((useZones() ?? []).map(({ id, name }) => [id, name] as const));
  const devices = (view.kind === 'shown' ? view.value : []).map(({ id, name, zoneId }) => {
    return { value: id, label: name, hint: zones.get(zoneId ?? '') ?? '' };
  });
  const { about = '', deviceId = '', userId = '', text = '' } = filter;
  const all = { value: '', label: t('activityLog.allDevices') };
  return (
    <div
      role="search"
      aria-label={t('activity.title')}
      className="mb-4 grid grid-cols-2 gap-3 lg:grid-cols-[minmax(0,1fr)_repeat(3,11rem)]"
    >
      <SearchField
        label={t('activityLog.text')}
        value={text}
        onChange={(typed) => onChoose({ text: typed })}
        className="col-span-2 lg:col-span-1"
      />
      {seesAll && (
        <Select
          bare
          label={t('activityLog.about')}
          value={about}
          onChange={({ target }) => onChoose({ about: target.value })}
        >
          <option value="">{t('activityLog.everything')}</option>
          {topics.map((topic) => (
            <option key={topic} value={topic}>
              {t(`activityLog.topics.${topic}`)}
            </option>
          ))}
        </Select>
      )}
      {seesAll && <PersonSelect value={userId} onChange={(value) => onChoose({ userId: value })} />}
      <Combobox
        label={t('activityLog.device')}
        value={deviceId}
        shown={
          devices.find(({ value }) => value === deviceId)?.label ??
          (deviceId === '' ? all.label : t('activity.removed'))
        }
        groups={[{ label: t('activityLog.device'), options: [all, ...devices] }]}
        onChange={(value) => onChoose({ deviceId: value })}
        className="col-span-2 lg:col-span-1"
      />
      {Object.keys(filter).length > 0 && (
        <Button
          kind="quiet"
          className="justify-self-start"
          onClick={() => onChoose({ about: '', deviceId: '', userId: '', text: '' })}
        >
          {t('activityLog.clear')}
        </Button>
      )}
    </div>
  );
}

function PersonSelect({ value, onChange }: { value: string; onChange: (userId: string) => void }) {
  const { t } = useTranslation();
  const members = useMembers();
  return (
    <Select bare label={t('activityLog.person')} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{t('activityLog.everybody')}</option>
      {(members.kind === 'shown' ? members.value : []).map((member) => (
        <option key={member.userId} value={member.userId}>
          {member.name}
        </option>
      ))}
    </Select>
  );
}
