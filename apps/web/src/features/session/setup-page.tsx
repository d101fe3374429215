import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SetupRequest } from '@station/protocol/rest';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { checkForm, type FieldFaults, focusFirst, refusedFields, shortestPassword, textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { Entrance } from './entrance.tsx';

/** First run: the code the station shows, and the owner's account. */
export function SetupPage() {
  const { t } = useTranslation();
  const { session } = useServices();
  const [faults, setFaults] = useState<FieldFaults>({});
  const setup = useMutation({
    mutationFn: session.setUp,
    onError: (error) => setFaults(refusedFields(asProblem(error).faults)),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const values = readForm(new FormData(event.currentTarget));
    const found = checkForm(values, { code: 'filled', name: 'filled', email: 'email', password: 'new_password' });
    setFaults(found);
    if (Object.keys(found).length > 0) focusFirst(event.currentTarget, found);
    else setup.mutate(requestOf(values));
  };
  const fault = (name: string): string | null =>
    faults[name] ? t(`error.field.${faults[name]}`, { min: shortestPassword }) : null;
  const problem = setup.error ? asProblem(setup.error) : null;
  return (
    <Entrance title={t('session.setup.title')} lead={t('session.setup.lead')}>
      <form noValidate onSubmit={submit} className="space-y-4">
        <Field
          label={t('session.setup.code')}
          help={t('session.setup.codeHelp')}
          name="code"
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          fault={fault('code')}
        />
        <Field
          label={t('session.setup.stationName')}
          help={t('session.setup.stationNameHelp')}
          name="stationName"
          autoComplete="off"
          maxLength={100}
          fault={fault('stationName')}
        />
        <Field label={t('session.name')} name="name" autoComplete="name" maxLength={100} fault={fault('name')} />
        <Field
          label={t('session.email')}
          name="email"
          type="email"
          autoComplete="username"
          autoCapitalize="none"
          fault={fault('email')}
        />
        <Field
          label={t('session.password')}
          help={t('session.passwordHelp')}
          name="password"
          type="password"
          autoComplete="new-password"
          maxLength={256}
          fault={fault('password')}
        />
        {problem && <ProblemNote problem={problem} />}
        {problem?.code === 'setup_already_done' && (
          <Button className="w-full" onClick={() => void session.start()}>
            {t('session.login.title')}
          </Button>
        )}
        <Button kind="primary" type="submit" busy={setup.isPending} className="w-full">
          {setup.isPending ? t('session.busy') : t('session.setup.submit')}
        </Button>
      </form>
    </Entrance>
  );
}

const readForm = (form: FormData): Record<'code' | 'stationName' | 'name' | 'email' | 'password', string> => ({
  code: textOf(form, 'code').trim(),
  stationName: textOf(form, 'stationName').trim(),
  name: textOf(form, 'name').trim(),
  email: textOf(form, 'email').trim(),
  password: textOf(form, 'password'),
});

/** An empty station name is left out: the station then keeps its own. */
const requestOf = ({ stationName, ...rest }: ReturnType<typeof readForm>): SetupRequest =>
  stationName === '' ? rest : { ...rest, stationName };
