import { useTranslation } from 'react-i18next';
import type { Member, MemberPatch } from '@station/protocol/rest';
import { isLimited, type Role } from '@station/protocol/roles';
import { useZones } from '../../api/devices.ts';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { stationKey } from '../../api/station.ts';
import { zoneHere, zoneToday } from '../../i18n/time-zones.ts';
import { Choice, Field } from '../../ui/fields.tsx';
import { type GuestEnd, endTime, localOf } from './guest-end.ts';

/** A role that can be given; that of the owner cannot. */
type GivenRole = Exclude<Role, 'owner'>;

/** What somebody may see, as it is being chosen. `kept`: the end stays as it is. */
export type ChosenRights = {
  role: GivenRole;
  zoneIds: readonly string[];
  end: GuestEnd | { kind: 'kept'; at: string };
};

export const usualRights: ChosenRights = { role: 'member', zoneIds: [], end: { kind: 'tonight' } };

export const rightsOf = ({ role, zoneIds, endsAt }: Member): ChosenRights => ({
  role: role === 'owner' ? 'member' : role,
  zoneIds: zoneIds ?? [],
  end: endsAt === null ? usualRights.end : { kind: 'kept', at: endsAt },
});

export type RightsFault = 'zones' | 'date' | 'past';

/** The request, or what is missing. `now`: of the station. */
export function rightsRequest(
  { role, zoneIds, end }: ChosenRights,
  { now, timeZone }: { now: number; timeZone: string },
): { body: MemberPatch } | { fault: RightsFault } {
  if (!isLimited(role)) return { body: { role } };
  if (zoneIds.length === 0) return { fault: 'zones' };
  if (role === 'limited') return { body: { role, zoneIds: [...zoneIds] } };
  const at = end.kind === 'kept' ? Date.parse(end.at) : endTime(end, now, timeZone);
  if (at === null) return { fault: 'date' };
  if (at <= now) return { fault: 'past' };
  return { body: { role, zoneIds: [...zoneIds], endsAt: new Date(at).toISOString() } };
}

/** The time zone of the station; that of this browser until it is known. */
export function useTimeZone(): string {
  const view = useReading(stationKey, 'GET /api/station');
  return view.kind === 'shown' ? zoneToday(view.value.timeZone) : zoneHere();
}

/** Role, zones and end. Only the owner decides who is an administrator. */
export function RightsFields({
  value,
  onChange,
  mayMakeAdmin,
  fault,
}: {
  value: ChosenRights;
  onChange: (rights: ChosenRights) => void;
  mayMakeAdmin: boolean;
  fault: RightsFault | null;
}) {
  const { t } = useTranslation();
  const given = (['member', 'limited', 'guest', 'admin'] as const).filter((role) => role !== 'admin' || mayMakeAdmin);
  return (
    <>
      <Choice
        legend={t('members.role')}
        name="role"
        options={given.map((role) => ({
          value: role,
          label: t(`account.role.${role}`),
          help: t(`members.roles.${role}`),
        }))}
        value={value.role}
        onChange={(role) => onChange({ ...value, role })}
      />
      {isLimited(value.role) && <ZoneChoice value={value} onChange={onChange} isMissing={fault === 'zones'} />}
      {value.role === 'guest' && <EndChoice value={value} onChange={onChange} fault={fault} />}
    </>
  );
}

type Part = { value: ChosenRights; onChange: (rights: ChosenRights) => void };

function ZoneChoice({ value, onChange, isMissing }: Part & { isMissing: boolean }) {
  const { t } = useTranslation();
  const zones = useZones();
  const toggle = (id: string): void => {
    const rest = value.zoneIds.filter((one) => one !== id);
    onChange({ ...value, zoneIds: rest.length < value.zoneIds.length ? rest : [...rest, id] });
  };
  return (
    <fieldset>
      <legend className="mb-1 font-strong">{t('members.zones.title')}</legend>
      {zones?.length === 0 && <p className="text-ink-soft">{t('members.zones.none')}</p>}
      <div className="grid grid-cols-1 gap-x-4 sm:grid-cols-2">
        {zones?.map(({ id, name }) => (
          <label key={id} className="flex min-h-11 cursor-pointer items-center gap-3">
            <input
              type="checkbox"
              className="size-5 shrink-0 accent-(--accent)"
              checked={value.zoneIds.includes(id)}
              onChange={() => toggle(id)}
            />
            <span className="min-w-0 break-words">{name}</span>
          </label>
        ))}
      </div>
      {isMissing && (
        <p role="alert" className="text-small text-fault">
          {t('members.zones.missing')}
        </p>
      )}
    </fieldset>
  );
}

const oneHourMs = 3_600_000;

function EndChoice({ value, onChange, fault }: Part & { fault: RightsFault | null }) {
  const { t } = useTranslation();
  const { clock } = useServices();
  const timeZone = useTimeZone();
  const { end } = value;
  const setEnd = (next: ChosenRights['end']): void => onChange({ ...value, end: next });
  const choose = (kind: 'tonight' | 'day' | 'week' | 'date'): void => {
    if (kind !== 'date') return setEnd({ kind });
    const at = end.kind === 'kept' ? Date.parse(end.at) : clock.now() + oneHourMs;
    setEnd({ kind, local: localOf(at, timeZone) });
  };
  const shown = end.kind === 'kept' ? 'date' : end.kind;
  const local = end.kind === 'kept' ? localOf(Date.parse(end.at), timeZone) : end.kind === 'date' ? end.local : '';
  return (
    <>
      <Choice
        legend={t('members.end.title')}
        name="end"
        options={(['tonight', 'day', 'week', 'date'] as const).map((kind) => ({
          value: kind,
          label: t(`members.end.${kind}`),
        }))}
        value={shown}
        onChange={choose}
      />
      {shown === 'date' && (
        <Field
          label={t('members.end.when')}
          help={t('members.end.zone', { zone: timeZone })}
          name="endsAt"
          type="datetime-local"
          value={local}
          onChange={(event) => setEnd({ kind: 'date', local: event.currentTarget.value })}
          fault={
            fault === 'past' || fault === 'date' ? t(`members.end.${fault === 'past' ? 'past' : 'missing'}`) : null
          }
        />
      )}
    </>
  );
}
