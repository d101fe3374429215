import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { Check, Copy, KeyRound, Trash2 } from 'lucide-react';
import { type ReactNode, type SubmitEvent, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AddedMember, MadePassword, Member, NewMember, Role } from '@station/protocol/rest';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/fields.tsx';
import { textOf, useFormFaults } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';

/** Changes the role or the password of a member, or removes it; never oneself and never the owner. */
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
      <PasswordDialog
        key="made"
        title={t('members.made.replaced', { name })}
        email={email}
        password={password.data.password}
        onClose={onClose}
      />
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

/** Asks for the new member, then shows the password once. Only the owner may choose the role. */
export function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const form = useId();
  const user = useUser();
  const add = useAddMember();
  const [role, setRole] = useState<GivenRole>('member');
  const faults = useFormFaults();
  if (add.data) {
    return (
      <PasswordDialog
        title={t('members.made.added', { name: add.data.name })}
        email={add.data.email}
        password={add.data.firstPassword ?? ''}
        onClose={onClose}
      />
    );
  }
  const problem = add.error ? asProblem(add.error) : null;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = { name: textOf(data, 'name').trim(), email: textOf(data, 'email').trim() };
    const isGood = faults.check(event.currentTarget, values, { name: 'filled', email: 'email' });
    if (isGood && !add.isPending)
      add.mutate({ ...values, role }, { onError: (error) => faults.showRefused(error.faults) });
  };
  const isTaken = problem?.code === 'conflict';
  return (
    <Dialog
      title={t('members.dialog.add')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" type="submit" form={form} busy={add.isPending} onClick={() => undefined}>
            {t('members.dialog.submit')}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={submit} className="space-y-4">
        <Field
          label={t('members.dialog.name')}
          name="name"
          autoComplete="off"
          maxLength={100}
          fault={faults.messageOf('name')}
        />
        <Field
          label={t('members.dialog.email')}
          help={t('members.dialog.emailHelp')}
          name="email"
          type="email"
          autoComplete="off"
          autoCapitalize="none"
          maxLength={254}
          fault={isTaken ? t('members.dialog.exists') : faults.messageOf('email')}
        />
        {user.role === 'owner' && <RoleChoice value={role} onChange={setRole} />}
        <p className="text-small text-ink-soft">{t('members.dialog.passwordComes')}</p>
        {problem && !isTaken && <ProblemNote problem={problem} />}
      </form>
    </Dialog>
  );
}

/** What a new member needs to log in, shown once, to be passed on. */
function PasswordDialog({
  title,
  email,
  password,
  onClose,
}: {
  title: string;
  email: string;
  password: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const lines = useRef<HTMLDListElement>(null);
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no');
  const facts = [
    [t('members.made.address'), location.origin],
    [t('members.dialog.email'), email],
    [t('members.made.password'), password],
  ] as const;
  const copy = async (): Promise<void> => {
    const text = facts.map(([name, value]) => `${name}: ${value}`).join('\n');
    setCopied((await copyText(text, lines.current)) ? 'yes' : 'refused');
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          {t('members.dialog.done')}
        </Button>
      }
    >
      <p>{t('members.made.help')}</p>
      <dl ref={lines} className="space-y-2 rounded-xl bg-sunken p-4">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt className="text-small text-ink-soft">{name}</dt>
            <dd className="font-strong break-all select-all">{value}</dd>
          </div>
        ))}
      </dl>
      <Button className="w-full" onClick={() => void copy()}>
        {copied === 'yes' ? <Check aria-hidden className="size-5" /> : <Copy aria-hidden className="size-5" />}
        {t(copied === 'yes' ? 'members.made.copied' : 'members.made.copy')}
      </Button>
      <p role="status" className="text-small text-ink-soft">
        {copied === 'refused' && t('members.made.notCopied')}
        {copied === 'yes' && <span className="sr-only">{t('members.made.copied')}</span>}
      </p>
    </Dialog>
  );
}

function RoleChoice({ value, onChange }: { value: GivenRole; onChange: (role: GivenRole) => void }) {
  const { t } = useTranslation();
  const option = (role: GivenRole) => ({
    value: role,
    label: t(`account.role.${role}`),
    help: t(`members.roles.${role}`),
  });
  return (
    <Choice
      legend={t('members.role')}
      name="role"
      options={[option('member'), option('admin')]}
      value={value}
      onChange={onChange}
    />
  );
}

const membersKey = ['members'];

/** A role that can be given; that of the owner cannot. */
type GivenRole = Exclude<Role, 'owner'>;

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

function useAddMember(): Command<AddedMember, NewMember> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body) => session.call('POST', '/api/station/members', { body }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: membersKey }),
  });
}

function useChangeRole(userId: string): Command<Member, GivenRole> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (role) => session.call('PATCH', `/api/station/members/${userId}`, { body: { role } }),
    onSuccess: (changed) =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) =>
        all?.map((one) => (one.userId === userId ? changed : one)),
      ),
  });
}

function useRemoveMember(userId: string): Command<void> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('DELETE', `/api/station/members/${userId}`),
    onSuccess: () =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) => all?.filter((one) => one.userId !== userId)),
  });
}

function useMakePassword(userId: string): Command<MadePassword> {
  const { session } = useServices();
  return useMutation({ mutationFn: () => session.call('POST', `/api/station/members/${userId}/password`) });
}
