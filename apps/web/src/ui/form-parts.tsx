import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import type { Form } from './form.ts';
import { ProblemNote } from './problem.tsx';

type Outcome = Pick<Form<never, unknown>, 'problem' | 'explanation' | 'isBusy' | 'isDone'>;

/** Why a form did not arrive. */
export function FormProblem({ form: { problem, explanation } }: { form: Outcome }) {
  if (problem === null) return null;
  if (explanation === null) return <ProblemNote error={problem} />;
  return (
    <p role="alert" className="rounded-xl bg-fault-soft p-3">
      {explanation}
    </p>
  );
}

/** The end of a form: what went wrong, its button, and that it was saved. `children`: what else can be done. */
export function FormEnd({
  form,
  submit,
  done,
  usable = true,
  autoFocus = false,
  children,
}: {
  form: Outcome;
  submit: string;
  done?: string;
  usable?: boolean;
  /** The button is what is left to do. */
  autoFocus?: boolean;
  children?: ReactNode;
}) {
  return (
    <>
      <FormProblem form={form} />
      <div className="flex flex-wrap items-center gap-4">
        <Button kind="primary" type="submit" busy={form.isBusy} disabled={!usable} autoFocus={autoFocus}>
          {submit}
        </Button>
        {children}
        {done !== undefined && (
          <p role="status" className="text-small text-ok">
            {form.isDone && done}
          </p>
        )}
      </div>
    </>
  );
}

/** A dialog with a form. `lead` stands above it, `actions` beside its button. */
export function FormDialog({
  form,
  title,
  lead,
  submit,
  keep,
  actions,
  children,
  onClose,
}: {
  form: Outcome & Pick<Form<never, unknown>, 'props'>;
  title: string;
  lead?: ReactNode;
  submit: string;
  /** What the button says that changes nothing. */
  keep?: string;
  actions?: ReactNode;
  children: ReactNode;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" type="submit" form={form.props.id} busy={form.isBusy}>
            {submit}
          </Button>
          {actions}
          <Button onClick={onClose}>{keep ?? t('action.cancel')}</Button>
        </>
      }
    >
      {lead}
      <form {...form.props} className="space-y-4">
        {children}
      </form>
      <FormProblem form={form} />
    </Dialog>
  );
}
