/** Tiles, pages and activity of devices. */
export const devices = {
  device: {
    back: 'Dom',
    details: '{{name}}: szczegóły',
    more: 'Szczegóły',
    sliderOf: '{{what}}, {{name}}',
    waiting: 'Czekanie na urządzenie…',
    offlineSince: 'Offline, ostatnio widziane {{time}}',
    fault: 'Nie udało się odczytać urządzeń',
    faulty: 'Wysyła nieczytelne dane',
    broken: 'Nie można pokazać urządzenia {{name}}: jego dane zawierają błąd.',
    status: { online: 'online', offline: 'offline', unknown: 'jeszcze nie widziane' },
    refused: {
      noAnswer: 'Brak odpowiedzi, więc nie wiadomo, czy się udało. Jeśli nie, spróbuj ponownie.',
      notSent: 'Stacja nie odpowiedziała. Spróbuj ponownie.',
      failed: 'Brak połączenia z urządzeniem, więc nic się nie zmieniło. Spróbuj ponownie.',
    },
    capability: {
      power: 'Zasilanie',
      brightness: 'Jasność',
      temperature: 'Temperatura',
      humidity: 'Wilgotność',
      motion: 'Ruch',
      battery: 'Bateria',
    },
    value: {
      yes: 'Tak',
      no: 'Nie',
    },
    event: {
      some: 'Coś się wydarzyło',
      ota_failed: 'Nie udało się zaktualizować firmware’u',
      type_differs: 'Zgłasza inny typ urządzenia',
    },
    activity: {
      title: 'Zdarzenia',
      empty: 'Jeszcze nic się nie wydarzyło.',
      older: 'Pokaż starsze',
      fresh_one: 'Pokaż {{count}} nowe zdarzenie',
      fresh_few: 'Pokaż {{count}} nowe zdarzenia',
      fresh_many: 'Pokaż {{count}} nowych zdarzeń',
      fresh_other: 'Pokaż {{count}} nowego zdarzenia',
    },
  },
  activity: {
    title: 'Zdarzenia',
    removed: 'Usunięte urządzenie',
    automation: 'Automatyzacja',
  },
} as const;
