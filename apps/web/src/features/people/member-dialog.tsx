import { KeyRound, Trash2 } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Member } from '@station/protocol/rest';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { HandOver } from './hand-over.tsx';
import { RoleChoice } from './role-choice.tsx';
import { useChangeRole, useMakePassword, useRemoveMember, type GivenRole } from './use-members.ts';

/** Another role, a new password, or an end: each for someone else than oneself and than the owner. */
export function MemberDialog({
  member,
  mayChangeRole,
  onClose,
}: {
  member: Member;
  mayChangeRole: boolean;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [removing, setRemoving] = useState(false);
  const password = useMakePassword(member.userId);
  const { name, email } = member;
  if (removing) return <RemoveDialog member={member} onKeep={() => setRemoving(false)} />;
  if (password.data) {
    return (
      <Dialog
        key="made"
        title={t('members.made.replaced', { name })}
        onClose={onClose}
        actions={
          <Button kind="primary" onClick={onClose}>
            {t('members.dialog.done')}
          </Button>
        }
      >
        <HandOver email={email} password={password.data.password} />
      </Dialog>
    );
  }
  return (
    <ChangeDialog member={member} mayChangeRole={mayChangeRole} onClose={onClose}>
      <div className="space-y-3 border-t border-line pt-4">
        <div>
          <Button busy={password.isPending} className="w-full" onClick={() => password.mutate()}>
            <KeyRound aria-hidden className="size-5" />
            {t('members.dialog.newPassword')}
          </Button>
          <p className="mt-1 text-small text-ink-soft">{t('members.dialog.newPasswordHelp', { name })}</p>
        </div>
        {password.error && <ProblemNote problem={password.error} />}
        <Button className="w-full" onClick={() => setRemoving(true)}>
          <Trash2 aria-hidden className="size-5" />
          {t('members.dialog.remove')}
        </Button>
      </div>
    </ChangeDialog>
  );
}

function ChangeDialog({
  member,
  mayChangeRole,
  onClose,
  children,
}: {
  member: Member;
  mayChangeRole: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const change = useChangeRole(member.userId);
  const [role, setRole] = useState<GivenRole>(member.role === 'admin' ? 'admin' : 'member');
  const save = (): void => {
    if (role === member.role) onClose();
    else change.mutate(role, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={member.name}
      onClose={onClose}
      actions={
        mayChangeRole ? (
          <>
            <Button kind="primary" busy={change.isPending} onClick={save}>
              {t('members.dialog.save')}
            </Button>
            <Button onClick={onClose}>{t('action.cancel')}</Button>
          </>
        ) : (
          <Button onClick={onClose}>{t('members.dialog.done')}</Button>
        )
      }
    >
      <p className="-mt-2 break-words text-ink-soft">{member.email}</p>
      {mayChangeRole ? (
        <RoleChoice value={role} onChange={setRole} />
      ) : (
        <p>
          {t(`account.role.${member.role}`)}. {t('members.ownerChooses')}
        </p>
      )}
      {change.error && <ProblemNote problem={change.error} />}
      {children}
    </Dialog>
  );
}

function RemoveDialog({ member, onKeep }: { member: Member; onKeep: () => void }) {
  const { t } = useTranslation();
  const remove = useRemoveMember(member.userId);
  const { name } = member;
  return (
    <Dialog
      key="remove"
      title={t('members.remove.title', { name })}
      onClose={onKeep}
      actions={
        <>
          <Button kind="primary" busy={remove.isPending} onClick={() => remove.mutate()}>
            {t('members.remove.confirm')}
          </Button>
          <Button onClick={onKeep}>{t('members.remove.keep')}</Button>
        </>
      }
    >
      <p>{t('members.remove.help', { name })}</p>
      <p>{t('members.remove.stays')}</p>
      {remove.error && <ProblemNote problem={remove.error} />}
    </Dialog>
  );
}
