/** Tiles, pages and activity of devices. */
export const devices = {
  device: {
    back: 'Дім',
    details: '{{name}}: докладно',
    more: 'Подробиці',
    sliderOf: '{{what}}, {{name}}',
    waiting: 'Чекаємо на пристрій…',
    offlineSince: 'Не на зв’язку, востаннє {{time}}',
    fault: 'Не вдалося прочитати пристрої',
    faulty: 'Надсилає дані, які не вдається прочитати',
    broken: 'Не вдається показати пристрій {{name}}: у його даних є помилка.',
    status: { online: 'на зв’язку', offline: 'не на зв’язку', unknown: 'ще не виходив на зв’язок' },
    refused: {
      noAnswer: 'Немає відповіді, тож невідомо, чи вийшло. Якщо ні, спробуйте ще раз.',
      notSent: 'Станція не відповіла. Спробуйте ще раз.',
      failed: 'Команда не дійшла, тож нічого не змінилося. Спробуйте ще раз.',
    },
    capability: {
      power: 'Стан',
      brightness: 'Яскравість',
      temperature: 'Температура',
      humidity: 'Вологість',
      motion: 'Рух',
      battery: 'Батарея',
    },
    value: {
      yes: 'Так',
      no: 'Ні',
    },
    event: {
      some: 'Щось сталося',
      ota_failed: 'Не вдалося оновити прошивку',
      type_differs: 'Повідомляє інший тип пристрою',
    },
    activity: {
      title: 'Події',
      empty: 'Ще нічого не сталося.',
      older: 'Показати давніші',
      fresh_one: 'Показати {{count}} нову подію',
      fresh_few: 'Показати {{count}} нові події',
      fresh_many: 'Показати {{count}} нових подій',
      fresh_other: 'Показати {{count}} нової події',
    },
  },
  activity: {
    title: 'Події',
    removed: 'Вилучений пристрій',
    automation: 'Автоматизація',
  },
} as const;
