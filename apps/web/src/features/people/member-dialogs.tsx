import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { Check, Copy, KeyRound, Trash2 } from 'lucide-react';
import { type ReactNode, type SubmitEvent, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AddedMember, MadePassword, Member, MemberPatch, NewMember } from '@station/protocol/rest';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf, useFormFaults } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import {
  type ChosenRights,
  RightsFields,
  type RightsFault,
  rightsOf,
  rightsRequest,
  usualRights,
  useTimeZone,
} from './rights-fields.tsx';

/** Changes the role or the password of a member, or removes it; never oneself and never the owner. */
export function MemberDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { t } = useTranslation();
  const [removing, setRemoving] = useState(false);
  const password = useMakePassword(member.userId);
  const { name, email } = member;
  // Closed meanwhile, it would never show the password.
  const close = (): void => void (password.isPending || onClose());
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
    <ChangeDialog member={member} onClose={close}>
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

function ChangeDialog({ member, onClose, children }: { member: Member; onClose: () => void; children: ReactNode }) {
  const { t } = useTranslation();
  const change = useChangeRights(member.userId);
  const rights = useRights(rightsOf(member));
  const save = (): void => {
    const body = rights.request();
    if (body !== null) change.mutate(body, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={member.name}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={change.isPending} onClick={save}>
            {t('members.dialog.save')}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <p className="-mt-2 break-words text-ink-soft">{member.email}</p>
      <RightsFields {...rights.fields} />
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
          <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
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

/** Asks for the new member, then shows the password once. */
export function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const form = useId();
  const add = useAddMember();
  const rights = useRights(usualRights);
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
  // As in the dialog of a member.
  const close = (): void => void (add.isPending || onClose());
  const problem = add.error ? asProblem(add.error) : null;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = { name: textOf(data, 'name').trim(), email: textOf(data, 'email').trim() };
    const isGood = faults.check(event.currentTarget, values, { name: 'filled', email: 'email' });
    const given = rights.request();
    if (isGood && given !== null && !add.isPending)
      add.mutate({ ...values, ...given }, { onError: (error) => faults.showRefused(error.faults) });
  };
  const isTaken = problem?.code === 'conflict';
  return (
    <Dialog
      title={t('members.dialog.add')}
      onClose={close}
      actions={
        <>
          <Button kind="primary" type="submit" form={form} busy={add.isPending} onClick={() => undefined}>
            {t('members.dialog.submit')}
          </Button>
          <Button onClick={close}>{t('action.cancel')}</Button>
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
        <RightsFields {...rights.fields} />
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

/** Role, zones and end while they are chosen. */
function useRights(first: ChosenRights) {
  const { clock } = useServices();
  const timeZone = useTimeZone();
  const mayMakeAdmin = useUser().role === 'owner';
  const [value, setValue] = useState(first);
  const [fault, setFault] = useState<RightsFault | null>(null);
  return {
    fields: {
      value,
      fault,
      mayMakeAdmin,
      onChange: (next: ChosenRights) => {
        setValue(next);
        setFault(null);
      },
    },
    /** Null: something is missing, and is shown. */
    request: (): MemberPatch | null => {
      const asked = rightsRequest(value, { now: clock.now(), timeZone });
      setFault('fault' in asked ? asked.fault : null);
      return 'body' in asked ? asked.body : null;
    },
  };
}

const membersKey = ['members'];

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

function useAddMember(): Command<AddedMember, NewMember> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body) => session.call('POST /api/station/members', { body }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: membersKey }),
  });
}

function useChangeRights(userId: string): Command<Member, MemberPatch> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body) => session.call('PATCH /api/station/members/:userId', { params: { userId }, body }),
    onSuccess: (changed) =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) =>
        all?.map((one) => (one.userId === userId ? changed : one)),
      ),
  });
}

function useRemoveMember(userId: string): Command<void> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('DELETE /api/station/members/:userId', { params: { userId } }),
    onSuccess: () =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) => all?.filter((one) => one.userId !== userId)),
  });
}

function useMakePassword(userId: string): Command<MadePassword> {
  const { session } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST /api/station/members/:userId/password', { params: { userId } }),
  });
}
