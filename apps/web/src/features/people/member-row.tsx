import { Pencil } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Member, User } from '@station/protocol/rest';
import { classNames } from '../../ui/class-names.ts';
import { MemberDialog } from './member-dialog.tsx';

/** One person. Who may do something to them gets the way to do it. */
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
          <span className="font-strong break-words">{member.name}</span>
          {isOwn && (
            <span className="rounded-full bg-accent-soft px-2 text-small font-strong text-accent">
              {t('members.you')}
            </span>
          )}
        </p>
        <p className="truncate text-small text-ink-soft">{member.email}</p>
        <p className="text-small sm:hidden">{t(`account.role.${member.role}`)}</p>
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
        user.role !== 'member' && <span className="-mr-2 size-11 shrink-0" />
      )}
      {open && <MemberDialog member={member} mayChangeRole={user.role === 'owner'} onClose={() => setOpen(false)} />}
    </li>
  );
}

const isBelow = (member: Member, user: User): boolean => user.role === 'admin' && member.role === 'member';
