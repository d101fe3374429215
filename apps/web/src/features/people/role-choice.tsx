import { useTranslation } from 'react-i18next';
import { Choice } from '../../ui/choice.tsx';
import type { GivenRole } from './use-members.ts';

export function RoleChoice({ value, onChange }: { value: GivenRole; onChange: (role: GivenRole) => void }) {
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
