import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { SetupRequest } from '@station/protocol/rest';
import { useServices } from '../../api/services.ts';
import { zoneHere } from '../../i18n/time-zones.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { type Form, useForm } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { SetupCodeField } from '../../ui/setup-code-field.tsx';
import { Entrance } from './entrance.tsx';

/** First run: the code the station shows, and the owner's account. `note`: what to know before. `children`: what else can be done. */
export function SetupPage({ note, children }: { note: ReactNode; children: ReactNode }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const form = useForm({
    body: SetupRequest,
    fields: ['code', 'stationName', 'name', 'email', 'password'],
    mayBeEmpty: ['stationName'],
    wrong: { setup_code_invalid: { field: 'code', words: t('error.setup_code_invalid') } },
    // An empty station name is left out: the station then keeps its own. The station is where its owner sets it up.
    send: ({ stationName, ...rest }) =>
      session.setUp({
        ...rest,
        ...(stationName !== '' && { stationName }),
        timeZone: zoneHere(),
      }),
  });
  return (
    <Entrance title={t('session.setup.title')} lead={t('session.setup.lead')}>
      {note}
      <form {...form.props} className="space-y-4">
        <SetupFields field={form.field} />
        <ProblemNote error={form.problem} />
        {form.problem?.code === 'setup_already_done' && (
          <Button className="w-full" onClick={() => void session.start()}>
            {t('session.login.title')}
          </Button>
        )}
        <Button kind="primary" type="submit" busy={form.isBusy} className="w-full">
          {form.isBusy ? t('session.busy') : t('session.setup.submit')}
        </Button>
      </form>
      {children}
    </Entrance>
  );
}

type SetupField = 'code' | 'stationName' | 'name' | 'email' | 'password';

function SetupFields({ field }: Pick<Form<SetupField, unknown>, 'field'>) {
  const { t } = useTranslation();
  return (
    <>
      <SetupCodeField problem={null} fault={field('code').fault} />
      <Field
        label={t('session.setup.stationName')}
        help={t('session.setup.stationNameHelp')}
        {...field('stationName')}
      />
      <Field label={t('session.name')} {...field('name')} autoComplete="name" />
      <Field
        label={t('session.email')}
        {...field('email')}
        type="email"
        autoComplete="username"
        autoCapitalize="none"
      />
      <Field
        label={t('session.password')}
        help={t('session.passwordHelp')}
        {...field('password')}
        type="password"
        autoComplete="new-password"
      />
    </>
  );
}
