import { Check, Copy, KeyRound, Trash2 } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type MadePassword, type Member, type MemberPatch, NewMember } from '@station/protocol/rest';
import { type Command, useCommand } from '../../api/command.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
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
  const remove = useRemoveMember(member.userId);
  const [question, ask] = useConfirm();
  const password = useMakePassword(member.userId);
  const { name, email } = member;
  // Closed meanwhile, it would never show the password.
  const close = (): void => void (password.isPending || onClose());
  const askToRemove = (): void =>
    ask({
      title: t('members.remove.title', { name }),
      text: (
        <>
          <p>{t('members.remove.help', { name })}</p>
          <p>{t('members.remove.stays')}</p>
        </>
      ),
      confirm: t('members.remove.confirm'),
      keep: t('members.remove.keep'),
      run: () => remove.mutateAsync().then(onClose),
    });
  if (question) return question;
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
        <ProblemNote error={password.error} />
        <Button className="w-full" onClick={askToRemove}>
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
      <ProblemNote error={change.error} />
      {children}
    </Dialog>
  );
}

/** Asks for the new member, then shows the password once. */
export function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const rights = useRights(usualRights);
  const form = useForm({
    body: NewMember,
    fields: ['name', 'email'],
    check: () => rights.request() !== null,
    send: (texts) => {
      const given = rights.request();
      if (given === null) throw new Error('rights were checked');
      return session.call('POST /api/station/members', { body: { ...texts, ...given } });
    },
    onDone: () => void queries.invalidateQueries({ queryKey: membersKey }),
    wrong: { conflict: { field: 'email', words: t('members.dialog.exists') } },
  });
  if (form.answer) {
    return (
      <PasswordDialog
        title={t('members.made.added', { name: form.answer.name })}
        email={form.answer.email}
        password={form.answer.firstPassword ?? ''}
        onClose={onClose}
      />
    );
  }
  // As in the dialog of a member.
  const close = (): void => void (form.isBusy || onClose());
  return (
    <FormDialog form={form} title={t('members.dialog.add')} submit={t('members.dialog.submit')} onClose={close}>
      <Field label={t('members.dialog.name')} {...form.field('name')} />
      <Field
        label={t('members.dialog.email')}
        help={t('members.dialog.emailHelp')}
        {...form.field('email')}
        type="email"
        autoCapitalize="none"
      />
      <RightsFields {...rights.fields} />
      <p className="text-small text-ink-soft">{t('members.dialog.passwordComes')}</p>
    </FormDialog>
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

const useChangeRights = (userId: string): Command<Member, MemberPatch> =>
  useCommand((session, body) => session.call('PATCH /api/station/members/:userId', { params: { userId }, body }), {
    keep: (queries, changed) =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) =>
        all?.map((one) => (one.userId === userId ? changed : one)),
      ),
  });

const useRemoveMember = (userId: string): Command<void> =>
  useCommand((session) => session.call('DELETE /api/station/members/:userId', { params: { userId } }), {
    keep: (queries) =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) => all?.filter((one) => one.userId !== userId)),
  });

const useMakePassword = (userId: string): Command<MadePassword> =>
  useCommand((session) => session.call('POST /api/station/members/:userId/password', { params: { userId } }));
