import { type SubmitEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../../api/problem.ts';
import { useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { focusFirst } from '../../ui/focus-first.ts';
import { checkForm, type FieldFaults, refusedFields, textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { HandOver } from './hand-over.tsx';
import { RoleChoice } from './role-choice.tsx';
import { type GivenRole, useAddMember } from './use-members.ts';

/** Asks who comes, then shows once what they log in with. Only the owner is asked as what: who is an administrator is the owner's to decide. */
export function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const form = useId();
  const user = useUser();
  const add = useAddMember();
  const [role, setRole] = useState<GivenRole>('member');
  const [faults, setFaults] = useState<FieldFaults>({});
  if (add.data) {
    return (
      <Dialog
        title={t('members.made.added', { name: add.data.name })}
        onClose={onClose}
        actions={
          <Button kind="primary" onClick={onClose}>
            {t('members.dialog.done')}
          </Button>
        }
      >
        <HandOver email={add.data.email} password={add.data.firstPassword ?? ''} />
      </Dialog>
    );
  }
  const problem = add.error ? asProblem(add.error) : null;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = { name: textOf(data, 'name').trim(), email: textOf(data, 'email').trim() };
    const found = checkForm(values, { name: 'filled', email: 'email' });
    setFaults(found);
    if (Object.keys(found).length > 0) focusFirst(event.currentTarget, found);
    else if (!add.isPending)
      add.mutate({ ...values, role }, { onError: (error) => setFaults(refusedFields(error.faults)) });
  };
  const fault = (name: string): string | null => (faults[name] ? t(`error.field.${faults[name]}`, { min: 0 }) : null);
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
        <Field label={t('members.dialog.name')} name="name" autoComplete="off" maxLength={100} fault={fault('name')} />
        <Field
          label={t('members.dialog.email')}
          help={t('members.dialog.emailHelp')}
          name="email"
          type="email"
          autoComplete="off"
          autoCapitalize="none"
          maxLength={254}
          fault={isTaken ? t('members.dialog.exists') : fault('email')}
        />
        {user.role === 'owner' && <RoleChoice value={role} onChange={setRole} />}
        <p className="text-small text-ink-soft">{t('members.dialog.passwordComes')}</p>
        {problem && !isTaken && <ProblemNote problem={problem} />}
      </form>
    </Dialog>
  );
}
