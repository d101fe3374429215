import { useTranslation } from 'react-i18next';
import { ActivityList } from './activity-list.tsx';
import { Card } from '../../ui/card.tsx';

/** What happened at the device, newest first. */
export function ActivityCard({ deviceId }: { deviceId: string }) {
  const { t } = useTranslation();
  return (
    <Card title={t('device.activity.title')}>
      <ActivityList deviceId={deviceId} nameOf={null} />
    </Card>
  );
}
