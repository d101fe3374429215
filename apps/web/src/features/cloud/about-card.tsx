import { CloudOff, Globe, Hourglass, House } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Card } from '../../ui/card.tsx';

const reasons = [
  ['away', Globe],
  ['home', House],
  ['kept', Hourglass],
  ['end', CloudOff],
] as const;

/** For someone who has no cloud yet: what it is good for, and what it does not touch. */
export function AboutCard() {
  const { t } = useTranslation();
  return (
    <Card title={t('cloud.about.title')}>
      <ul className="space-y-4">
        {reasons.map(([name, Icon]) => (
          <li key={name} className="flex gap-3">
            <Icon aria-hidden className="mt-0.5 size-5 shrink-0 text-accent" />
            <span className="min-w-0">{t(`cloud.about.${name}`)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
