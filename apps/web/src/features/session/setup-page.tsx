import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { SetupRequest } from '@station/protocol/rest';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { type FormFaults, textOf, useFocusOn, useFormFaults } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { isSetupCodeWrong, SetupCodeField, setupCodeName } from '../../ui/setup-code-field.tsx';
import { Entrance } from './entrance.tsx';

/** First run: the code the station shows, and the owner's account. `note`: what to know before. `children`: what else can be done. */
export function SetupPage({ note, children }: { note: ReactNode; children: ReactNode }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const faults = useFormFaults();
  const setup = useMutation({
    mutationFn: session.setUp,
    onError: (error) => faults.showRefused(asProblem(error).faults),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const values = readForm(new FormData(event.currentTarget));
    if (faults.check(event.currentTarget, values, rules)) setup.mutate(requestOf(values));
  };
  const problem = setup.error ? asProblem(setup.error) : null;
  const form = useRef<HTMLFormElement>(null);
  const isCodeWrong = isSetupCodeWrong(problem);
  useFocusOn(form, isCodeWrong ? setupCodeName : null, setup.submittedAt);
  return (
    <Entrance title={t('session.setup.title')} lead={t('session.setup.lead')}>
      {note}
      <form ref={form} noValidate onSubmit={submit} className="space-y-4">
        <SetupFields faults={faults} problem={problem} />
        {problem && !isCodeWrong && <ProblemNote problem={problem} />}
        {problem?.code === 'setup_already_done' && (
          <Button className="w-full" onClick={() => void session.start()}>
            {t('session.login.title')}
          </Button>
        )}
        <Button kind="primary" type="submit" busy={setup.isPending} className="w-full">
          {setup.isPending ? t('session.busy') : t('session.setup.submit')}
        </Button>
      </form>
      {children}
    </Entrance>
  );
}

function SetupFields({ faults, problem }: { faults: FormFaults; problem: Problem | null }) {
  const { t } = useTranslation();
  return (
    <>
      <SetupCodeField problem={problem} fault={faults.messageOf(setupCodeName)} />
      <Field
        label={t('session.setup.stationName')}
        help={t('session.setup.stationNameHelp')}
        name="stationName"
        autoComplete="off"
        maxLength={100}
        fault={faults.messageOf('stationName')}
      />
      <Field
        label={t('session.name')}
        name="name"
        autoComplete="name"
        maxLength={100}
        fault={faults.messageOf('name')}
      />
      <Field
        label={t('session.email')}
        name="email"
        type="email"
        autoComplete="username"
        autoCapitalize="none"
        fault={faults.messageOf('email')}
      />
      <Field
        label={t('session.password')}
        help={t('session.passwordHelp')}
        name="password"
        type="password"
        autoComplete="new-password"
        maxLength={256}
        fault={faults.messageOf('password')}
      />
    </>
  );
}

const rules = { code: 'filled', name: 'filled', email: 'email', password: 'new_password' } as const;

const readForm = (form: FormData): Record<'code' | 'stationName' | 'name' | 'email' | 'password', string> => ({
  code: textOf(form, 'code').trim(),
  stationName: textOf(form, 'stationName').trim(),
  name: textOf(form, 'name').trim(),
  email: textOf(form, 'email').trim(),
  password: textOf(form, 'password'),
});

/** An empty station name is left out: the station then keeps its own. The station is where its owner sets it up. */
const requestOf = ({ stationName, ...rest }: ReturnType<typeof readForm>): SetupRequest => ({
  ...rest,
  ...(stationName !== '' && { stationName }),
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
});
