import { Pencil, UserPlus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Member, User } from '@station/protocol/rest';
import { isLimited, isManager, roles } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useZones } from '../../api/devices.ts';
import { useServices, useUser } from '../../api/services.ts';
import { useMembers } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { dateFormat } from '../../i18n/formats.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { AddDialog, MemberDialog } from './member-dialogs.tsx';
import { useTimeZone } from './rights-fields.tsx';

/** Who has access, and with which role. */
export function MembersPage() {
  const { t } = useTranslation();
  const view = useMembers();
  if (view.kind === 'shown') return <Shown members={view.value} freshness={view.freshness} />;
  return (
    <>
      <PageHead page={t('members.title')}>
        <h1 className="text-title font-strong md:text-value">{t('members.title')}</h1>
        <p className="h-6" />
      </PageHead>
      {view.kind === 'fault' ? (
        <ReadFault title={t('members.fault')} {...view} />
      ) : (
        <Loading cards={['h-72', 'h-72']} className="lg:grid-cols-[minmax(0,1fr)_20rem]" />
      )}
    </>
  );
}

function Shown({ members, freshness }: { members: readonly Member[]; freshness: Freshness }) {
  const { t } = useTranslation();
  const user = useUser();
  const [adding, setAdding] = useState(false);
  const stale = freshness.kind === 'stale';
  const mayManage = isManager(user.role);
  const addButton = mayManage && (
    <Button kind="primary" disabled={stale} onClick={() => setAdding(true)}>
      <UserPlus aria-hidden className="size-5" />
      {t('members.add')}
    </Button>
  );
  return (
    <>
      <PageHead page={t('members.title')} freshness={freshness}>
        <h1 className="text-title font-strong md:text-value">{t('members.title')}</h1>
        <p className="text-ink-soft">{t('members.count', { count: members.length })}</p>
      </PageHead>
      <Dimmable stale={stale} className="main-and-side">
        <Card title={t('members.people')} aside={members.length > 1 && addButton}>
          <ul className="-my-2 divide-y divide-line">
            {members.map((member) => (
              <MemberRow key={member.userId} member={member} user={user} usable={!stale} />
            ))}
          </ul>
          {members.length === 1 && mayManage && <Alone>{addButton}</Alone>}
          {!mayManage && <p className="mt-4 border-t border-line pt-4 text-ink-soft">{t('members.readOnly')}</p>}
        </Card>
        <RolesCard />
      </Dimmable>
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function Alone({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div className="mt-4 flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-8 text-center">
      <h3 className="font-strong">{t('members.alone.title')}</h3>
      <p className="mb-2 max-w-sm text-ink-soft">{t('members.alone.help')}</p>
      {children}
    </div>
  );
}

function RolesCard() {
  const { t } = useTranslation();
  return (
    <Card title={t('members.roles.title')}>
      <dl className="space-y-3">
        {roles.map((role) => (
          <div key={role}>
            <dt className="font-strong">{t(`account.role.${role}`)}</dt>
            <dd className="text-ink-soft">{t(`members.roles.${role}`)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

/** One member, with a button for people who may change it. */
export function MemberRow({ member, user, usable }: { member: Member; user: User; usable: boolean }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const isOwn = member.userId === user.id;
  const mayChange = !isOwn && member.role !== 'owner' && (user.role === 'owner' || isBelow(member, user));
  return (
    <li className="flex items-center gap-4 py-3">
      <span
        aria-hidden
        className={classNames(
          'grid size-10 shrink-0 place-items-center rounded-full font-strong',
          isOwn ? 'bg-accent text-accent-ink' : 'bg-sunken text-ink-soft',
        )}
      >
        {[...member.name][0]?.toUpperCase()}
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="min-w-0 font-strong break-words">{member.name}</span>
          {isOwn && (
            <span className="rounded-full bg-accent-soft px-2 text-small font-strong text-accent">
              {t('members.you')}
            </span>
          )}
        </p>
        <p className="truncate text-small text-ink-soft">{member.email}</p>
        <p className="text-small sm:hidden">{t(`account.role.${member.role}`)}</p>
        <LimitsLine member={member} />
      </div>
      <p className="hidden shrink-0 text-ink-soft sm:block">{t(`account.role.${member.role}`)}</p>
      {mayChange ? (
        <button
          type="button"
          aria-label={t('members.change', { name: member.name })}
          aria-disabled={!usable || undefined}
          onClick={() => usable && setOpen(true)}
          className="-mr-2 grid size-11 shrink-0 place-items-center rounded-xl text-accent hover:bg-accent-soft"
        >
          <Pencil aria-hidden className="size-5" />
        </button>
      ) : (
        isManager(user.role) && <span className="-mr-2 size-11 shrink-0" />
      )}
      {open && <MemberDialog member={member} onClose={() => setOpen(false)} />}
    </li>
  );
}

/** "Only: Kitchen, Hall · until 25 November, 00:00". */
function LimitsLine({ member: { role, zoneIds, endsAt } }: { member: Member }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const zones = useZones();
  const timeZone = useTimeZone();
  const { clock } = useServices();
  if (!isLimited(role) || zones === null) return null;
  const names = zones.filter(({ id }) => zoneIds?.includes(id)).map(({ name }) => name);
  const only = names.length === 0 ? t('members.zones.gone') : t('members.zones.only', { zones: names.join(', ') });
  const isOver = endsAt !== null && Date.parse(endsAt) <= clock.now();
  const time = endsAt === null ? '' : dateFormat(locale, { ...endLook, timeZone }).format(Date.parse(endsAt));
  return (
    <p className="text-small text-ink-soft">
      {only}
      {endsAt !== null && dot + t(isOver ? 'members.end.over' : 'members.end.until', { time })}
    </p>
  );
}

const endLook = { dateStyle: 'medium', timeStyle: 'short' } as const;

const isBelow = (member: Member, user: User): boolean => user.role === 'admin' && !isManager(member.role);
